"""A pull request that would replace a file system, from comment to comment, on a paper cloud."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from papercloud.server import PaperCloud
from tests.cloud.stories.paper_stack import PaperStack

MARK = "<!-- muster preview -->"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem::paper-fsx"
UNTOLD = ("interface-quota", "budget")
"""What the simulated account cannot tell, or nobody knows the price of."""
DATED = {"reason": "the data is in the bucket", "until": "2099-12-31"}


def cluster(*acknowledged: str, **lustre: Any) -> dict[str, Any]:
    return {
        "target": "aws",
        "network": {"zoneId": "use2-az1", "internet": "endpoints"},
        "pools": [],
        "storage": [{"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 9600, **lustre}],
        "stages": ["infra"],
        "preflight": {
            "waivers": [{"rule": rule, **DATED} for rule in UNTOLD],
            "acknowledge": [{"urn": urn, **DATED} for urn in acknowledged],
        },
    }


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[PaperStack]:
    with PaperCloud() as cloud:
        yield PaperStack.make(tmp_path, cloud, cluster(throughput=500))


def commented(stack: PaperStack) -> tuple[int, str]:
    """Run the script as CI does."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.preview_comment", stack.stack],
        cwd=stack.directory,
        env=stack.environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.startswith(MARK), done.stderr
    return done.returncode, done.stdout


def test_a_file_system_that_would_be_replaced_is_red_until_acknowledged_and_unprotected(
    stack: PaperStack,
) -> None:
    status, new = commented(stack)
    assert (status, "none of them a loss" in new) == (0, True), new
    stack.must_up()

    stack.change(cluster(deployment="scratch2"))
    status, red = commented(stack)
    assert (status, "🔴 **Blocked: 1 of" in red) == (1, True), red
    assert "9.4 TiB" in red
    [urn] = set(re.findall(f"urn:pulumi:[^`' ]*{LUSTRE}", red.partition("| Resource")[2]))

    stack.change(cluster(urn, deployment="scratch2"))
    status, protected = commented(stack)
    assert (status, "currently marked for protection" in protected) == (3, True), protected
    assert "Blocked" not in protected

    PaperStack.must(stack.pulumi("state", "unprotect", urn, "--yes", "--stack", stack.stack))
    status, green = commented(stack)
    assert (status, DATED["reason"] in green) == (0, True), green
    assert urn in green
