"""An AWS stack all the way: a simulated cloud whose instances are lab nodes.

The cloud is simulated, the nodes are real: they are found by tag, converged and proved; one is
killed in the cloud, and the next `muster up` replaces it through its group and proves it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster import shell
from muster.catalog import load_catalog
from muster.readiness import Readiness, Verdict
from papercloud.lab_machines import LabMachines
from papercloud.server import PaperCloud
from tests.cloud.stories.paper_stack import PaperStack, tags

pytestmark = pytest.mark.lab

PROJECT = Path(__file__).parents[2]
NODES = 4
TYPE = "paper.8gpu"


@pytest.fixture(scope="module")
def cloud(lab_names: Callable[[], str]) -> Iterator[PaperCloud]:
    kind = load_catalog().instance_type(TYPE)
    machines = LabMachines(lab_names(), kind, places=NODES + 2, project=PROJECT)
    with PaperCloud(machines=machines) as made:
        yield made
    machines.close()


@pytest.fixture(scope="module")
def stack(cloud: PaperCloud, tmp_path_factory: pytest.TempPathFactory) -> PaperStack:
    directory = tmp_path_factory.mktemp("paper")
    key = directory / "id"
    shell.must_run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], timeout_s=30)
    public = key.with_suffix(".pub").read_text(encoding="utf-8").strip()
    pool = {"name": "train", "type": TYPE, "count": NODES, "capacity": {"onDemand": True}}
    cluster = {
        "target": "aws",
        "network": {"zoneId": "use2-az1"},
        "image": "ami-0123456789abcdef0",
        "head": {"type": TYPE},
        "access": {"user": "root", "publicKeys": [public], "keyFile": str(key), "via": "direct"},
        "pools": [{**pool, "interfaces": "fullBandwidth"}],
        "storage": [{"mount": "/shared", "kind": "efs"}],
    }
    made = PaperStack.make(directory / "project", cloud, cluster)
    made.environ["MUSTER_LAUNCH_WAIT_S"] = "180"
    return made


def readiness(stack: PaperStack) -> Readiness:
    [*_, newest] = sorted(
        (stack.directory / ".muster" / stack.stack / "runs").glob("*/readiness.json")
    )
    return Readiness.model_validate_json(newest.read_text(encoding="utf-8"))


def test_an_aws_stack_of_four_nodes_ends_ready(stack: PaperStack) -> None:
    up = stack.must(stack.muster("up", stack.stack, "--yes", timeout_s=900))
    assert "ready: true" in up.stdout
    found = readiness(stack)
    assert found.ready
    assert {node.node: node.verdict for node in found.nodes} == {
        f"train-{number}": Verdict.ACCEPTED for number in range(1, NODES + 1)
    }
    assert {node.serial for node in found.nodes} == {
        instance["InstanceId"] for instance in stack.instances("train")
    }


def test_an_instance_killed_in_the_cloud_is_replaced_and_proved_by_the_next_up(
    stack: PaperStack,
) -> None:
    lost = next(i for i in stack.instances("train") if tags(i)["muster:node"] == "train-2")
    stack.client("ec2").terminate_instances(InstanceIds=[lost["InstanceId"]])

    up = stack.must(stack.muster("up", stack.stack, "--yes", timeout_s=900))
    assert "ready: true" in up.stdout
    found = readiness(stack)
    assert found.ready
    new = next(node for node in found.nodes if node.node == "train-2")
    assert new.verdict is Verdict.ACCEPTED
    assert new.serial != lost["InstanceId"], "the proof is of the new instance"
    assert stack.steps() == {}


def test_down_leaves_no_instance(stack: PaperStack) -> None:
    refused = stack.muster("down", stack.stack)
    assert refused.returncode == 2
    assert "paper-shared" in refused.stderr
    assert len(stack.instances("train")) == NODES, "nothing was deleted"

    stack.must(stack.pulumi("state", "unprotect", "--all", "--yes", "--stack", stack.stack))
    stack.must(stack.muster("down", stack.stack, timeout_s=300))
    assert stack.instances() == []
