"""muster plan beside `pcluster create-cluster --dryrun true`, on equal clusters of a paper cloud.

AWS ParallelCluster comes from the package index, pinned, into an environment of its own below
.cache. Both programs ask the same simulated AWS; what it lacks shows in what they say of a cluster
that is right, so only what is said beyond that counts as found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import yaml

from benchmarks.wrong_clusters import ZONE, Cluster, account, right, wrong
from papercloud.server import PaperCloud

VERSION = "3.16.1"
SIZES = (8, 1250)
SUBNETS = {
    "wide": "10.0.0.0/17",
    "closed": "10.0.128.0/18",
    "public": "10.0.254.0/24",
    "narrow": "10.0.255.0/25",
}
ROOT = Path(__file__).resolve().parent.parent
INSTALL_S, RUN_S = 1800.0, 300
_SHOWN = 90
_GRAVEST_FIRST = ("found", "warned", "unknown", "missed")


class NotComparableError(Exception):
    """Why the two cannot be put side by side here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one run of one program said, and what it took."""

    said: Mapping[str, frozenset[str]]
    """Messages by how grave they are: found, warned, unknown."""
    seconds: float
    mib: float

    def beyond(self, baseline: Answer) -> tuple[str, str]:
        """Return the gravest kind of message that the right cluster did not get, and which."""
        for kind in _GRAVEST_FIRST[:-1]:
            if new := self.said[kind] - baseline.said[kind]:
                return kind, ", ".join(sorted(" ".join(text.split())[:_SHOWN] for text in new))
        return _GRAVEST_FIRST[-1], "-"


Ask = Callable[[Cluster, Mapping[str, str], Path, Mapping[str, str]], Answer]


def compare(runs: int) -> None:
    """Print both tables, or why there are none."""
    print(f"\nbeside AWS ParallelCluster {VERSION}, `pcluster create-cluster --dryrun true`;")
    print("both against the same simulated AWS (paper cloud), so no figure is one of AWS itself")
    try:
        asked = {"muster plan": ask_muster, "pcluster dryrun": _parallelcluster()}
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
            _times(asked, Path(folder), runs)
            _mistakes(asked, Path(folder))
    except NotComparableError as why:
        print(f"not comparable: {why}")


def _parallelcluster() -> Ask:
    """Install AWS ParallelCluster where it is not yet, and return how to ask it."""
    home = ROOT / ".cache" / f"aws-parallelcluster-{VERSION}"
    program, done = home / "bin" / "pcluster", home / "installed"
    if not done.exists():
        print(f"installing aws-parallelcluster=={VERSION} into {home}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        argv = [str(home / "bin" / "pip"), "install", "--quiet", f"aws-parallelcluster=={VERSION}"]
        try:
            installed = subprocess.run(
                argv, capture_output=True, text=True, check=False, timeout=INSTALL_S
            )
        except subprocess.TimeoutExpired:
            raise NotComparableError(f"it was not installed within {INSTALL_S:g} s") from None
        if installed.returncode:
            raise NotComparableError(f"it cannot be installed: {_last(installed.stderr)}")
        done.touch()
    return lambda cluster, network, folder, environ: ask_parallelcluster(
        program, cluster, network, folder, environ
    )


def ask_muster(
    cluster: Cluster, network: Mapping[str, str], folder: Path, environ: Mapping[str, str]
) -> Answer:
    """Run `muster plan` on a cluster."""
    (folder / "stacks").mkdir(exist_ok=True)
    text = "name: muster\nruntime: python\nstackConfigDir: stacks\n"
    (folder / "Pulumi.yaml").write_text(text)
    (folder / "stacks/Pulumi.bench.yaml").write_text(yaml.safe_dump(cluster.as_muster(network)))
    program = Path(sys.executable).parent / "muster"
    ran = _run([str(program), "plan", "bench", "--json", "--no-preview"], folder, environ)
    if ran.status == 2:  # noqa: PLR2004 - its exit status for a wrong spec
        lines = frozenset(ran.stderr.strip().splitlines())
        return _answer(ran, found=lines)
    results = _parsed(ran, "results")
    kinds = {"fail": "found", "warning": "warned", "unknown": "unknown"}
    said: dict[str, set[str]] = {kind: set() for kind in kinds.values()}
    for result in results:
        if kind := kinds.get(result["standing"]):
            said[kind].add(result["rule"])
    return _answer(ran, **said)


def ask_parallelcluster(
    program: Path,
    cluster: Cluster,
    network: Mapping[str, str],
    folder: Path,
    environ: Mapping[str, str],
) -> Answer:
    """Run `pcluster create-cluster --dryrun true` on a cluster."""
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(cluster.as_parallelcluster(network)))
    words = ["create-cluster", "-n", "bench", "-c", str(file), "--dryrun", "true"]
    # It writes its log below the home directory.
    ran = _run([str(program), *words], folder, {**environ, "HOME": str(folder)})
    document = _parsed(ran)
    rows = document.get("configurationValidationErrors", document.get("validationMessages"))
    if rows is None:
        # A refusal before its validators ran: as good as an error of one of them.
        passed = "would have succeeded" in str(document.get("message"))
        return _answer(ran, found=frozenset() if passed else frozenset([document["message"]]))
    said: dict[str, set[str]] = {"ERROR": set(), "WARNING": set(), "INFO": set()}
    for row in rows:
        said[row["level"]].add(row["type"])
    return _answer(ran, found=said["ERROR"], warned=said["WARNING"])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ran:
    status: int
    stdout: str
    stderr: str
    seconds: float
    mib: float


def _run(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> _Ran:
    out, err = folder / "stdout", folder / "stderr"
    watch = [sys.executable, "-I", "-S", str(ROOT / "benchmarks/spent.py"), str(RUN_S)]
    done = subprocess.run(
        [*watch, str(out), str(err), *argv],
        cwd=folder,
        env=dict(environ),
        capture_output=True,
        text=True,
        check=True,
        timeout=RUN_S + 60,
    )
    spent = json.loads(done.stdout)
    return _Ran(
        stdout=out.read_text(errors="replace"), stderr=err.read_text(errors="replace"), **spent
    )


def _parsed(ran: _Ran, key: str = "") -> Any:
    try:
        document = json.loads(ran.stdout)
    except ValueError:
        why = f"status {ran.status}: {_last(ran.stderr or ran.stdout)}"
        raise NotComparableError(f"it printed no JSON, {why}") from None
    return document[key] if key else document


def _answer(ran: _Ran, **said: Any) -> Answer:
    kinds = {kind: frozenset(said.get(kind, ())) for kind in _GRAVEST_FIRST[:-1]}
    return Answer(said=kinds, seconds=ran.seconds, mib=ran.mib)


def _last(text: str) -> str:
    lines = text.strip().splitlines() or ["it said nothing"]
    return lines[-1][:300]


def _network(cloud: PaperCloud) -> dict[str, str]:
    """Make a VPC: a wide and a narrow subnet behind a NAT gateway, and one without a way out."""
    keys = {"aws_access_key_id": "paper", "aws_secret_access_key": "paper"}
    ec2 = boto3.client("ec2", endpoint_url=cloud.endpoint, region_name="us-east-2", **keys)
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    for name in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=vpc, **{name: {"Value": True}})
    made = {"vpc": vpc}
    for name, cidr in SUBNETS.items():
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=ZONE)
        made[name] = subnet["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    _route(ec2, vpc, [made["public"]], GatewayId=gateway)
    nat = ec2.create_nat_gateway(SubnetId=made["public"], AllocationId=address)
    through = nat["NatGateway"]["NatGatewayId"]
    _route(ec2, vpc, [made["wide"], made["narrow"]], NatGatewayId=through)
    return made


def _route(ec2: Any, vpc: str, subnets: Sequence[str], **through: str) -> None:
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **through)
    for subnet in subnets:
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)


def _times(asked: Mapping[str, Ask], folder: Path, runs: int) -> None:
    print(
        f"\n{'nodes':>6} {'program':<16} {'seconds':>8} {'peak MiB':>9}  of a right cluster it says"
    )
    for nodes in SIZES:
        best: dict[str, Answer] = {}
        with PaperCloud(account(nodes)) as cloud:
            network, environ = _network(cloud), cloud.environ(folder)
            for name, ask in asked.items():
                answers = [ask(right(nodes), network, folder, environ) for _ in range(runs)]
                best[name] = sorted(answers, key=lambda answer: answer.seconds)[runs // 2]
                said = ", ".join(sorted(best[name].said["found"])) or "nothing wrong"
                row = best[name]
                print(f"{nodes:>6} {name:<16} {row.seconds:>8.2f} {row.mib:>9.0f}  {said}")
        ours, theirs = best.values()
        ratios = theirs.seconds / ours.seconds, theirs.mib / ours.mib
        print(f"{nodes:>6} pcluster over muster: time {ratios[0]:.2f}, memory {ratios[1]:.2f}")


def _mistakes(asked: Mapping[str, Ask], folder: Path) -> None:
    print(f"\n{'mistake':<56} {'  '.join(f'{name:<16}' for name in asked)}")
    counts = dict.fromkeys(asked, 0)
    baselines: dict[str, Answer] = {}
    with PaperCloud(account(16)) as cloud:
        network = _network(cloud)
        for name, ask in asked.items():
            baselines[name] = ask(right(16), network, folder, cloud.environ(folder))
    for case in wrong():
        told = {}
        with PaperCloud(case.scenario) as cloud:
            network = _network(cloud)
            for name, ask in asked.items():
                answer = ask(case.cluster, network, folder, cloud.environ(folder))
                told[name] = answer.beyond(baselines[name])
                counts[name] += told[name][0] == "found"
        print(f"{case.name:<56} {'  '.join(f'{word:<16}' for word, _ in told.values())}")
        for name, (_, which) in told.items():
            print(f"    {name}: {which}", flush=True)
    totals = "  ".join(f"{f'{n} of {len(wrong())}':<16}" for n in counts.values())
    print(f"{'found':<56} {totals}")
