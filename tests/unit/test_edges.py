"""The small edges: programs, files, locks, project directory, errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster import shell
from muster.clock import SystemClock
from muster.errors import CommandError, MusterError, RemoteError, UsageError
from muster.files import append_line, write_atomic
from muster.fleet import Fleet, Node, SshAccess, load_fleet
from muster.lock import stack_lock
from muster.progress import silent
from muster.project import project_directory, store_root
from muster.remote import RecordedRemote, SshRemote, close_connections
from muster.ssh import as_root


def test_a_program_that_fails_keeps_its_status_and_output() -> None:
    done = shell.run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=5)
    assert (done.rc, done.stdout, done.stderr, done.ok) == (3, "out\n", "err\n", False)


def test_a_program_that_has_to_succeed_says_what_it_printed() -> None:
    with pytest.raises(CommandError, match="failed with status 3: no such thing"):
        shell.must_run(["sh", "-c", "echo no such thing >&2; exit 3"], timeout_s=5)


def test_a_program_that_does_not_end_is_killed_and_named() -> None:
    with pytest.raises(CommandError, match=r"`sleep 60` did not end within 0.2 s"):
        shell.run(["sleep", "60"], timeout_s=0.2)


def test_a_program_that_does_not_exist_is_named_with_what_to_do() -> None:
    with pytest.raises(CommandError, match=r"`no-such-program` could not be started.*doctor"):
        shell.run(["no-such-program"], timeout_s=1)


def test_pass_through_returns_the_exit_status() -> None:
    assert shell.pass_through(["sh", "-c", "exit 4"]) == 4


def test_an_atomic_write_replaces_the_whole_file_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomic(path, "long text\n", mode=0o600)
    write_atomic(path, "short\n", mode=0o600)
    assert path.read_text() == "short\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_an_atomic_write_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(path, "\ud800")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_lines_are_added_whole(tmp_path: Path) -> None:
    append_line(tmp_path / "log", "one")
    append_line(tmp_path / "log", "two")
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_a_stack_in_use_names_the_holder(tmp_path: Path) -> None:
    program = (
        "import sys,time\n"
        "from pathlib import Path\n"
        "from muster.clock import SystemClock\n"
        "from muster.lock import stack_lock\n"
        "with stack_lock(Path(sys.argv[1]), clock=SystemClock(), progress=print):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(MusterError, match=rf"in use by pid {holder.pid}"),
            stack_lock(tmp_path, clock=SystemClock(), progress=silent, wait_s=0.1),
        ):
            pytest.fail("two holders")
    finally:
        holder.kill()
        holder.communicate()
    with stack_lock(tmp_path, clock=SystemClock(), progress=silent, wait_s=5):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_the_project_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert project_directory(below) == tmp_path


def test_outside_a_project_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MUSTER_STORE", raising=False)
    with pytest.raises(UsageError, match="no Pulumi.yaml"):
        store_root()


def test_an_error_is_one_line_with_place_and_remedy() -> None:
    error = MusterError("it\nbroke", where="gpu-1", hint="Mend it.")
    assert str(error) == "gpu-1: it broke. Mend it."


def fleet(port: int = 22) -> Fleet:
    head = Node(
        name="head",
        serial="s0",
        pool="head",
        type="t",
        address="127.0.0.1",
        host_key="ssh-ed25519 AAAA",
        leaf="",
    )
    access = SshAccess(port=port, key_file="/nonexistent", known_hosts_file="/nonexistent")
    return Fleet(stack="lab", target="lab", ssh=access, head=head, nodes=())


def test_a_node_that_does_not_answer_is_an_error_of_its_own_kind(tmp_path: Path) -> None:
    remote = SshRemote(fleet(port=1), tmp_path / "cp")
    with pytest.raises(RemoteError, match="^head: ssh could not reach it"):
        remote.run("head", "true", timeout_s=10)
    close_connections(tmp_path / "cp")
    assert not (tmp_path / "cp").exists()


def test_ssh_always_verifies_host_keys(tmp_path: Path) -> None:
    argv = " ".join(SshRemote(fleet(), tmp_path).argv("head"))
    assert "StrictHostKeyChecking=yes" in argv
    assert "BatchMode=yes" in argv


def aws_fleet(via: str) -> Fleet:
    """Return a fleet whose nodes are known by their instance id."""
    old = fleet()
    access = {"user": "ubuntu", "via": via, "region": "us-east-2", "known_by": "serial"}
    return old.model_copy(
        update={
            "ssh": old.ssh.model_copy(update=access),
            "head": old.head.model_copy(update={"serial": "i-1", "ssh_host": "i-1"}),
        }
    )


def test_ssh_through_session_manager_names_the_instance_and_its_region(tmp_path: Path) -> None:
    argv = SshRemote(aws_fleet("sessionManager"), tmp_path).argv("head")
    assert argv[-1] == "ubuntu@i-1"
    assert (
        "ProxyCommand=aws ssm start-session --target %h --document-name AWS-StartSSHSession"
        " --parameters portNumber=%p --region us-east-2"
    ) in argv


def test_an_instance_is_known_by_its_id_as_addresses_come_back(tmp_path: Path) -> None:
    assert "HostKeyAlias=i-1" in SshRemote(aws_fleet("direct"), tmp_path).argv("head")
    assert not any("Alias" in word for word in SshRemote(fleet(), tmp_path).argv("head"))


def test_ssh_itself_takes_the_options_as_they_are_meant(tmp_path: Path) -> None:
    [program, *words] = SshRemote(aws_fleet("sessionManager"), tmp_path).argv("head")
    told = shell.must_run([program, "-G", *words], timeout_s=10).stdout.splitlines()
    assert {"hostname i-1", "user ubuntu", "hostkeyalias i-1", f"controlpath {tmp_path}/i-1"} <= (
        set(told)
    )
    assert any(
        line.startswith("proxycommand aws ssm start-session") and line.endswith("us-east-2")
        for line in told
    )


def test_a_user_who_is_not_root_asks_sudo_without_a_password() -> None:
    assert as_root(aws_fleet("direct").ssh, "id -u; id") == "sudo -n -- sh -c 'id -u; id'"
    assert as_root(fleet().ssh, "id -u; id") == "id -u; id"


def test_a_fleet_written_before_there_were_clouds_still_loads(tmp_path: Path) -> None:
    new = {"via", "region", "knownBy", "switches", "domain", "sshHost", "sharedDirectory"}
    document = fleet().model_dump(mode="json", by_alias=True)
    for part in (document, document["ssh"], document["head"]):
        for key in new & set(part):
            del part[key]
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_fleet(path) == fleet()


def test_a_node_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no node 'gpu-9'.*Nodes: head"):
        fleet().node("gpu-9")


def test_what_was_not_recorded_cannot_be_asked() -> None:
    remote = RecordedRemote({("n", "a"): RemoteError("gone", where="n")})
    with pytest.raises(RemoteError, match="gone"):
        remote.run("n", "a", timeout_s=1)
    with pytest.raises(RemoteError, match="nothing recorded"):
        remote.run("n", "b", timeout_s=1)
    assert remote.asked == [("n", "a"), ("n", "b")]
