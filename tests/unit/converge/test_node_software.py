"""What is wrong with NCCL, pyxis, logins and exporters is named; unreadable is wrong as well."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.converge.filters import MISSING, filters, said

software = filters("node_software")

LINKER = (
    "3 libs found in cache `/etc/ld.so.cache'\n"
    "\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnccl.so.2\n"
    "\tlibnccl-net.so (libc6,x86-64) => /opt/amazon/ofi-nccl/lib/libnccl-net.so\n"
    "\tlibc.so.6 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libc.so.6\n"
)
REAL = said("/usr/lib/x86_64-linux-gnu/libnccl.so.2.30.4\n")


def test_the_nccl_that_was_asked_for_passes() -> None:
    found = software.nccl_problems(said(LINKER), REAL, "2.30.4-1+cuda12.9", plugin=True)
    assert found == []


@pytest.mark.parametrize(
    ("linker", "real", "problem"),
    [
        (said(LINKER.replace("libnccl.so.2", "libother.so")), REAL, "finds no libnccl.so.2"),
        (
            said(LINKER + "\tlibnccl.so.2 (libc6,x86-64) => /usr/local/lib/libnccl.so.2\n"),
            REAL,
            "more than once",
        ),
        (said(LINKER), said("/usr/lib/libnccl.so.2.27.5"), "is libnccl.so.2.27.5, expected"),
        (said(LINKER), MISSING, "libnccl.so.2 is unknown"),
        (said(LINKER.replace("libnccl-net", "libx")), REAL, "would use TCP instead of EFA"),
        (said(""), REAL, "lists no library"),
        (MISSING, REAL, "cannot be run"),
    ],
)
def test_another_nccl_is_named(linker: dict[str, Any], real: dict[str, Any], problem: str) -> None:
    found = software.nccl_problems(linker, real, "2.30.4-1", plugin=True)
    assert any(problem in line for line in found)


def test_settings_that_are_written_are_read_back() -> None:
    settings = {"NCCL_IB_GID_INDEX": 3, "NCCL_DEBUG": "WARN"}
    text = software.nccl_conf(settings)
    assert software.nccl_conf_problems(said(text), settings) == []
    assert software.nccl_conf_problems(said(text), {"NCCL_DEBUG": "WARN"}) == [
        "/etc/nccl.conf: NCCL_IB_GID_INDEX is 3, expected not set"
    ]
    assert software.nccl_conf_problems(said(""), settings)
    assert software.nccl_conf_problems(MISSING, settings)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("/etc/profile.d/nccl.sh:export NCCL_PROTO=simple", "sets NCCL_PROTO for every login"),
        ("/etc/environment:RDMAV_FORK_SAFE=1", "sets RDMAV_FORK_SAFE for every login"),
        ("/etc/profile.d/n.sh:export LD_PRELOAD=/opt/libnccl.so", "preloads NCCL"),
        ("/etc/ld.so.preload:/opt/nccl/lib/libnccl.so", "preloads NCCL"),
    ],
)
def test_what_is_forced_on_every_login_is_named(line: str, problem: str) -> None:
    (found,) = software.login_environment_problems(said(line))
    assert problem in found


def test_a_comment_or_another_variable_is_no_problem() -> None:
    text = "/etc/profile:# export NCCL_PROTO=simple\n/etc/environment:PATH=/usr/bin\n"
    assert software.login_environment_problems(said(text)) == []
    assert software.login_environment_problems(MISSING)


LDD = "\tlibmpi.so.40 => /opt/amazon/openmpi/lib/libmpi.so.40 (0x1)\n\tlibnccl.so.2 => /l (0x2)\n"


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (said("\tlibnccl.so.2 => /lib (0x2)\n"), "N tests of one node"),
        (said(LDD.replace("/l (0x2)", "not found")), "misses libnccl.so.2"),
        (said("\tstatically linked"), "is not linked with libnccl"),
        (said(""), "is not linked with libmpi.so"),
        (MISSING, "cannot be run"),
    ],
)
def test_tests_without_mpi_are_named(result: dict[str, Any], problem: str) -> None:
    found = software.linked_problems(result, ["libmpi.so", "libnccl.so"])
    assert any(problem in line for line in found)


def test_tests_with_mpi_pass() -> None:
    assert software.linked_problems(said(LDD), ["libmpi.so", "libnccl.so"]) == []


ONCE = "/etc/slurm/plugstack.conf:required /usr/lib/slurm/spank_pyxis.so runtime_path=/run/pyxis\n"
INCLUDE = "/etc/slurm/plugstack.conf:include plugstack.conf.d/pyxis.conf\n"
INCLUDED = "/etc/slurm/plugstack.conf.d/pyxis.conf:required /usr/lib/slurm/spank_pyxis.so\n"
SENT = "/run/slurm/conf/plugstack.conf:# nothing\n"


@pytest.mark.parametrize(
    "text", [ONCE, INCLUDE + INCLUDED, "/etc/slurm/plugstack.conf:# x\n" + ONCE]
)
def test_pyxis_that_is_loaded_once_passes(text: str) -> None:
    assert software.plugstack_problems(said(text)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ONCE + ONCE, "loads pyxis 2 times"),
        (ONCE + INCLUDE + INCLUDED, "loads pyxis 2 times"),
        (SENT + ONCE, "/run/slurm/conf/plugstack.conf loads pyxis 0 times"),
        ("/etc/slurm/plugstack.conf:include plugstack.conf.d/*\n" + INCLUDED, "gets none"),
        (INCLUDE, "which is not there"),
        ("/etc/slurm/plugstack.conf:# required spank_pyxis.so\n", "loads pyxis 0 times"),
        ("", "there is no plugstack.conf"),
    ],
)
def test_pyxis_that_is_loaded_twice_or_not_is_named(text: str, problem: str) -> None:
    assert any(problem in line for line in software.plugstack_problems(said(text)))


HELP = said(
    "Usage: srun\n      --container-image=[USER@][REGISTRY#]IMAGE\n      --container-mounts=X\n"
)
SLURMD = said("slurm 24.11.5\n")


def test_pyxis_that_srun_knows_passes() -> None:
    assert software.pyxis_problems(HELP, SLURMD, "24.11.1") == []


@pytest.mark.parametrize(
    ("help_text", "slurmd", "problem"),
    [
        (said("Usage: srun\n"), SLURMD, "0 times, expected once"),
        (said(HELP["stdout"] * 2), SLURMD, "2 times, expected once"),
        (said(HELP["stdout"], stderr="error: spank: Incompatible plugin"), SLURMD, "srun says"),
        (HELP, said("slurm 25.05.0"), "pyxis is built for Slurm 24.11.1, 25.05.0 runs"),
        (HELP, said(""), "unknown runs"),
        (MISSING, SLURMD, "srun --help cannot be run"),
        (HELP, MISSING, "slurmd -V cannot be run"),
    ],
)
def test_pyxis_that_does_not_fit_is_named(
    help_text: dict[str, Any], slurmd: dict[str, Any], problem: str
) -> None:
    found = software.pyxis_problems(help_text, slurmd, "24.11.1")
    assert any(problem in line for line in found)


def test_enroot_and_its_directories_are_compared() -> None:
    paths = ["/run/enroot", "/var/cache/enroot"]
    good = said("/run/enroot root 1777\n/var/cache/enroot root 1777\n")
    assert software.enroot_problems(said("3.5.0\n"), "3.5.0", good, paths) == []
    bad = said("/run/enroot root 755\n", rc=1)
    assert software.enroot_problems(said("3.4.1"), "3.5.0", bad, paths) == [
        "enroot 3.4.1 is installed, expected 3.5.0",
        "/run/enroot has mode 755, expected 1777",
        "/var/cache/enroot has mode none, it is not there, expected 1777",
    ]
    assert software.enroot_problems(MISSING, "", good, paths)


SSHD = (
    "/etc/pam.d/sshd:@include common-account\n"
    "/etc/pam.d/sshd:@include common-session\n"
    "/etc/pam.d/sshd:account    sufficient    pam_access.so accessfile=/x\n"
    "/etc/pam.d/sshd:account    required      pam_slurm_adopt.so\n"
    "/etc/pam.d/common-account:account [success=1 default=ignore] pam_unix.so\n"
    "/etc/pam.d/common-session:# muster: session optional pam_systemd.so\n"
    "/etc/pam.d/login:session optional pam_systemd.so\n"
)
MODULE = said("/usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so\n", rc=1)
SLURM = said(
    "PrologFlags             = Alloc,Contain\nProctrackType           = proctrack/cgroup\n"
)


def test_a_node_that_asks_for_a_job_passes() -> None:
    assert software.pam_problems(said(SSHD), MODULE, SLURM) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SSHD.replace("pam_slurm_adopt", "pam_permit"), "asks pam_slurm_adopt 0 times"),
        (SSHD.replace("required      pam_slurm", "optional pam_slurm"), "is optional in sshd"),
        (SSHD + "/etc/pam.d/sshd:account sufficient pam_permit.so\n", "comes after"),
        (SSHD.replace("pam_access", "pam_env"), "admins are locked out"),
        (SSHD.replace("# muster: ", ""), "sshd runs pam_systemd"),
        (SSHD.replace("# muster: ", "-"), "sshd runs pam_systemd"),
        ("", "there is no /etc/pam.d/sshd"),
    ],
)
def test_a_login_that_escapes_its_job_is_named(text: str, problem: str) -> None:
    assert any(problem in line for line in software.pam_problems(said(text), MODULE, SLURM))


@pytest.mark.parametrize(
    ("module", "slurm", "problem"),
    [
        (said(""), SLURM, "is not installed"),
        (MODULE, said("PrologFlags = Alloc\nProctrackType = proctrack/cgroup"), "lacks Contain"),
        (
            MODULE,
            said("PrologFlags = Contain\nProctrackType = proctrack/pgid"),
            "is proctrack/pgid",
        ),
        (MODULE, said("PrologFlags = Contain\n"), "ProctrackType of Slurm is unknown"),
        (MODULE, MISSING, "scontrol show config cannot be run"),
    ],
)
def test_what_adoption_needs_of_slurm_is_named(
    module: dict[str, Any], slurm: dict[str, Any], problem: str
) -> None:
    assert any(problem in line for line in software.pam_problems(said(SSHD), module, slurm))


def scraped(gpus: int, value: str = "41") -> dict[str, Any]:
    lines = (f'DCGM_FI_DEV_GPU_TEMP{{gpu="{i}",UUID="GPU-{i}"}} {value}\n' for i in range(gpus))
    return {"status": 200, "content": "".join(lines)}


def test_metrics_of_all_gpus_pass_and_others_fail() -> None:
    assert software.dcgm_metrics_problems(scraped(8), 8) == []
    assert software.dcgm_metrics_problems(scraped(7), 8) == [
        "dcgm-exporter has metrics of 7 GPUs, expected 8"
    ]
    assert software.dcgm_metrics_problems(scraped(8, "NaN"), 8)
    assert software.dcgm_metrics_problems({"status": 200, "content": ""}, 8)
    (found,) = software.dcgm_metrics_problems({"status": -1, "msg": "Connection refused"}, 8)
    assert "Connection refused" in found
