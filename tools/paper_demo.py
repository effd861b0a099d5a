"""`make paper`: an AWS stack from nothing to destroyed, against a simulated AWS on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from muster.project import project_with_stack
from papercloud.cloud.scenario import Scenario
from papercloud.server import BANNER, PaperCloud

STACK = "paper"
TYPE = "p4d.24xlarge"
NOT_RED = 3
"""`muster plan` ends with it where something is not known: here the price of the head node."""


def cluster(nodes: int, *given_up: str) -> dict[str, Any]:
    """Return the spec of the demonstration: a pool with EFA and a file system."""
    why = {"reason": "the demonstration is over", "until": "2099-12-31"}
    return {
        "target": "aws",
        "network": {"zoneId": "use2-az1"},
        "image": "ami-0123456789abcdef0",
        "access": {"publicKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample you"]},
        "pools": [
            {"name": "train", "type": TYPE, "count": nodes, "capacity": {"onDemand": True}},
        ],
        "storage": [
            {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 4800, "throughput": 250},
        ],
        "preflight": {"acknowledge": [{"urn": urn, **why} for urn in given_up]},
        "stages": ["infra"],
    }


class Demo:
    """A copy of this program with one stack, and the simulated cloud it is built in."""

    def __init__(self, directory: Path, cloud: PaperCloud) -> None:
        self._project = directory / "project"
        self._cloud = cloud
        self.write(cluster(3))
        self._environ = {
            **cloud.environ(directory),
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "MUSTER_LAUNCH_WAIT_S": "10",
        }

    def write(self, wanted: dict[str, Any]) -> None:
        """Write the stack's file, and at first the program."""
        if self._project.exists():
            path = self._project / "stacks" / f"Pulumi.{STACK}.yaml"
            config = {"aws:region": "us-east-2", "muster:cluster": wanted}
            path.write_text(json.dumps({"config": config}), encoding="utf-8")
        else:
            project_with_stack(self._project, STACK, wanted, {"aws:region": "us-east-2"})

    def muster(self, title: str, *words: str, expected: tuple[int, ...] = (0,)) -> None:
        """Run the CLI under a headline.

        Raises:
            SystemExit: it ended otherwise than it has to.

        """
        self._show(title, f"muster {' '.join(words)}")
        self._run([sys.executable, "-m", "muster.cli.main", *words], expected)

    def pulumi(self, title: str, *words: str) -> None:
        """Run the engine under a headline."""
        self._show(title, f"pulumi {' '.join(words)}")
        cli = str(Path(sys.executable).parent / "pulumi")
        self._run([cli, *words, "--stack", STACK, "--non-interactive"], (0,))

    def held(self) -> list[str]:
        """Return the URNs that are protected."""
        cli = str(Path(sys.executable).parent / "pulumi")
        argv = [cli, "stack", "export", "--stack", STACK]
        done = subprocess.run(
            argv, cwd=self._project, env=self._environ, capture_output=True, text=True, check=True
        )
        resources = json.loads(done.stdout)["deployment"]["resources"]
        return [entry["urn"] for entry in resources if entry.get("protect")]

    def _show(self, title: str, command: str) -> None:
        print(f"\n=== {title}   [{BANNER}]\n$ {command}", flush=True)

    def _run(self, argv: list[str], expected: tuple[int, ...]) -> None:
        status = subprocess.run(argv, cwd=self._project, env=self._environ, check=False).returncode
        if status not in expected:
            print(f"make paper: it ended with {status}, expected {expected}", file=sys.stderr)
            sys.exit(1)


def main() -> None:
    """Show the life of a stack."""
    with tempfile.TemporaryDirectory(prefix="muster-paper-") as scratch, PaperCloud() as cloud:
        demo = Demo(Path(scratch), cloud)
        plan = ("plan", STACK, "--no-preview")
        demo.muster("What it is, what it costs, why it would fail", *plan, expected=(0, NOT_RED))
        cloud.set(Scenario(capacity={f"{TYPE}/*": 2}))
        demo.muster("The zone has two nodes left, not three", "up", STACK, "--yes", expected=(1,))
        cloud.set(Scenario())
        demo.muster("There is capacity again: the next up finishes", "up", STACK, "--yes")
        demo.pulumi("Nothing is left to do", "preview", "--expect-no-changes")
        demo.write(cluster(4))
        demo.muster("A node more", "up", STACK, "--yes")
        demo.muster("A file system holds data: down stops first", "down", STACK, expected=(2,))
        demo.write(cluster(4, *demo.held()))
        demo.muster("Its loss is acknowledged", "up", STACK, "--yes")
        demo.pulumi("and it is unprotected", "state", "unprotect", "--all", "--yes")
        demo.muster("Away with it", "down", STACK)
    print(f"\nFrom nothing to destroyed, all of it {BANNER.rpartition(' ')[2]}.")


if __name__ == "__main__":
    main()
