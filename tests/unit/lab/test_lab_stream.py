"""Programs whose output is read as it comes, and locks between processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from muster import shell
from muster.errors import CommandError
from muster.lab.locks import locked


def test_lines_come_in_order_with_errors_among_them_and_a_last_one_without_end() -> None:
    lines: list[str] = []
    argv = ["sh", "-c", "echo a; echo b >&2; printf c"]
    done = shell.stream(argv, timeout_s=10, on_line=lines.append, on_tick=lambda: None)
    assert lines == ["a", "b", "c"]
    assert (done.rc, done.stdout) == (0, "a\nb\nc")


def test_the_exit_status_is_handed_on() -> None:
    done = shell.stream(["sh", "-c", "exit 7"], timeout_s=10, on_line=print, on_tick=lambda: None)
    assert done.rc == 7
    assert not done.ok


def test_a_quiet_program_ticks() -> None:
    ticks: list[int] = []
    shell.stream(["sleep", "1.3"], timeout_s=10, on_line=print, on_tick=lambda: ticks.append(1))
    assert ticks


def test_a_program_that_closed_its_output_and_goes_on_ends_in_time() -> None:
    with pytest.raises(CommandError, match=r"did not end within 0\.5 s"):
        shell.stream(
            ["sh", "-c", "exec >&- 2>&-; sleep 60"],
            timeout_s=0.5,
            on_line=print,
            on_tick=lambda: None,
        )


def test_an_error_in_the_reader_ends_the_program() -> None:
    def refuse(_line: str) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        shell.stream(
            ["sh", "-c", "echo a; sleep 60"], timeout_s=50, on_line=refuse, on_tick=lambda: None
        )


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(CommandError, match="`no-such-program` could not be started"):
        shell.stream(["no-such-program"], timeout_s=1, on_line=print, on_tick=lambda: None)


def test_a_lock_is_held_against_threads_and_says_what_it_waits_for(tmp_path: Path) -> None:
    path = tmp_path / "a" / "lock"
    said: list[str] = []
    order: list[str] = []

    def second() -> None:
        with locked(path, said.append, "the first"):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(path):
        thread.start()
        while not said:
            thread.join(0.01)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == ["waiting for another process: the first"]


def test_a_killed_holder_gives_the_lock_up(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    text = (
        "import sys, time; from pathlib import Path; from muster.lab.locks import locked\n"
        "with locked(Path(sys.argv[1])):\n print('held', flush=True); time.sleep(60)"
    )
    argv = [sys.executable, "-c", text, str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        child.kill()
    with locked(path):
        pass
