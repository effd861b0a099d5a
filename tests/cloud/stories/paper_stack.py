"""A stack of this program on a paper cloud of its own, driven as a person drives it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import yaml

from muster.project import project_with_stack
from papercloud.server import PaperCloud

REPOSITORY = Path(__file__).parents[3]
_UP_S = 600
_QUIET = {"same", "refresh", "read"}


@dataclass
class PaperStack:
    """A copy of the program, its stack file, and the cloud that it is built in."""

    directory: Path
    stack: str
    cloud: PaperCloud
    environ: dict[str, str]

    @classmethod
    def make(
        cls, directory: Path, cloud: PaperCloud, cluster: dict[str, Any], stack: str = "paper"
    ) -> PaperStack:
        """Copy the program into a directory; nothing is built yet."""
        project_with_stack(directory, stack, cluster, {"aws:region": "us-east-2"})
        (directory / "paper").mkdir()
        environ = {
            **cloud.environ(directory / "paper"),
            "PYTHONPATH": f"{directory}:{REPOSITORY}",
            # Long enough for a busy machine, short enough for a test of what never comes.
            "MUSTER_LAUNCH_WAIT_S": "20",
        }
        made = cls(directory, stack, cloud, environ)
        made.must(made.pulumi("stack", "select", "--create", stack))
        return made

    def change(self, cluster: dict[str, Any]) -> None:
        """Write another spec."""
        path = self.directory / "stacks" / f"Pulumi.{self.stack}.yaml"
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        document["config"]["muster:cluster"] = cluster
        path.write_text(yaml.safe_dump(document), encoding="utf-8")

    def muster(self, *words: str, timeout_s: float = _UP_S) -> subprocess.CompletedProcess[str]:
        """Run the CLI."""
        return self._run([sys.executable, "-m", "muster.cli.main", *words], timeout_s)

    def pulumi(self, *words: str, timeout_s: float = _UP_S) -> subprocess.CompletedProcess[str]:
        """Run the engine."""
        cli = str(Path(sys.executable).parent / "pulumi")
        return self._run([cli, *words, "--non-interactive"], timeout_s)

    def up(self) -> subprocess.CompletedProcess[str]:
        """Bring the stack up, without a preview."""
        return self.pulumi("up", "--yes", "--skip-preview", "--stack", self.stack)

    def must_up(self) -> None:
        """Bring the stack up; it must end well."""
        self.must(self.up())

    def refresh(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Look at the cloud."""
        return self.pulumi("refresh", "--yes", "--skip-preview", *flags, "--stack", self.stack)

    def destroy(self) -> subprocess.CompletedProcess[str]:
        """Take the stack down."""
        return self.pulumi("destroy", "--yes", "--skip-preview", "--stack", self.stack)

    def unchanged(self) -> subprocess.CompletedProcess[str]:
        """Look at the cloud, and preview: nothing may be left to do."""
        flags = ["--refresh", "--expect-no-changes"]
        return self.pulumi("preview", *flags, "--stack", self.stack)

    def give_up(self, cluster: dict[str, Any]) -> None:
        """Go on to a spec in which the loss of all data is acknowledged, and unprotect it."""
        held = [entry["urn"] for entry in self._resources() if entry.get("protect")]
        known = [{"urn": u, "reason": "the story ends", "until": "2099-12-31"} for u in held]
        self.change({**cluster, "preflight": {"acknowledge": known}})
        self.must_up()
        if held:
            self.must(self.pulumi("state", "unprotect", "--all", "--yes", "--stack", self.stack))

    def steps(self) -> dict[str, str]:
        """What a preview would do, by resource name; what stays the same is left out."""
        done = self.must(self.pulumi("preview", "--json", "--stack", self.stack))
        steps = json.loads(done.stdout)["steps"]
        return {s["urn"].rsplit("::", 1)[-1]: s["op"] for s in steps if s["op"] not in _QUIET}

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs."""
        done = self.must(self.pulumi("stack", "output", "--json", "--stack", self.stack))
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def _resources(self) -> list[dict[str, Any]]:
        done = self.must(self.pulumi("stack", "export", "--stack", self.stack))
        found: list[dict[str, Any]] = json.loads(done.stdout)["deployment"].get("resources", [])
        return found

    def client(self, service: str) -> Any:
        """Return a client of the stack's cloud."""
        return client(self.cloud, service)

    def instances(self, pool: str = "") -> list[dict[str, Any]]:
        """Return the instances of this stack (or of one pool) that run, by node name."""
        filters = [
            {"Name": "tag:muster:stack", "Values": [self.stack]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
        if pool:
            filters.append({"Name": "tag:muster:pool", "Values": [pool]})
        pages = self.client("ec2").describe_instances(Filters=filters)
        found = [i for r in pages["Reservations"] for i in r["Instances"]]
        return sorted(found, key=lambda i: tags(i).get("muster:node", ""))

    @staticmethod
    def must(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
        """Fail with all that was printed, unless it ended well."""
        assert done.returncode == 0, f"{done.args}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        return done

    def _run(self, argv: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=self.directory,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def client(cloud: PaperCloud, service: str) -> Any:
    """Return a client of a cloud, as any other tool would use it."""
    return boto3.client(
        service,
        endpoint_url=cloud.endpoint,
        region_name="us-east-2",
        aws_access_key_id="paper",
        aws_secret_access_key="paper",  # noqa: S106 the simulated cloud takes any
    )


def tags(instance: dict[str, Any]) -> dict[str, str]:
    """Return the tags of an instance."""
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
