"""What a cloud does to a stack: each ends in a clear message, and a second `up` finishes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from papercloud.cloud.scenario import Fault, Reservation, Scenario
from papercloud.server import PaperCloud
from tests.cloud.stories.examples import ZONE, Cluster
from tests.cloud.stories.paper_stack import PaperStack, tags

TYPE = "p5.48xlarge"
HELD = "cr-0123456789abcdef0"


def cluster(count: int = 2, **more: Any) -> Cluster:
    return {
        "target": "aws",
        "network": {"zoneId": "use2-az1"},
        "image": "ami-0123456789abcdef0",
        "access": {"publicKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample you"]},
        "pools": [{"name": "train", "type": TYPE, "count": count, "capacity": {"onDemand": True}}],
        "stages": ["infra"],
        **more,
    }


@pytest.fixture
def cloud() -> Iterator[PaperCloud]:
    with PaperCloud() as made:
        yield made


@pytest.fixture
def stack(tmp_path: Path, cloud: PaperCloud) -> PaperStack:
    return PaperStack.make(tmp_path, cloud, cluster())


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a failed command printed, in one line."""
    assert done.returncode != 0, done.stdout[-4000:]
    printed = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in printed, printed
    return printed


def test_missing_capacity_names_the_pool_and_the_cause_and_the_next_up_finishes(
    stack: PaperStack, cloud: PaperCloud
) -> None:
    cloud.set(Scenario(capacity={f"{TYPE}/*": 1}))
    message = said(stack.up())
    assert "do not have sufficient p5.48xlarge capacity" in message
    assert "1 of 2 nodes" in message
    assert "train" in message

    cloud.set(Scenario())
    stack.must_up()
    assert [tags(i)["muster:node"] for i in stack.instances("train")] == ["train-1", "train-2"]
    assert stack.steps() == {}


def test_a_quota_that_is_too_small_is_named_and_the_next_up_finishes(
    stack: PaperStack, cloud: PaperCloud
) -> None:
    cloud.set(Scenario(quotas={"L-417A185B": 192}))
    message = said(stack.up())
    assert "vCPU" in message

    cloud.set(Scenario())
    stack.must_up()
    assert len(stack.instances("train")) == 2


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(
            seed=7,
            faults=tuple(
                Fault(match=f"{service}:*", code=code, rate=0.2)
                for service, code in (
                    ("ec2", "RequestLimitExceeded"),
                    ("autoscaling", "Throttling"),
                    ("iam", "Throttling"),
                )
            ),
        ),
        Scenario(visible_after=1, topology_visible_after=5, console_after_s=3, instance_start_s=2),
    ],
    ids=["throttled", "late"],
)
def test_a_cloud_that_throttles_or_answers_late_is_waited_for(
    stack: PaperStack, cloud: PaperCloud, scenario: Scenario
) -> None:
    cloud.set(scenario)
    stack.must_up()
    cloud.set(Scenario())
    assert len(stack.instances("train")) == 2
    assert stack.steps() == {}


def test_a_file_system_that_is_refused_is_named_and_the_next_up_finishes(
    stack: PaperStack, cloud: PaperCloud
) -> None:
    lustre = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 4800, "throughput": 250}
    stack.change(cluster(storage=[lustre]))
    cloud.set(Scenario(faults=(Fault(match="fsx:CreateFileSystem", code="ServiceLimitExceeded"),)))
    assert "ServiceLimitExceeded" in said(stack.up())

    cloud.set(Scenario(fsx_create_s=3))
    stack.must_up()
    assert stack.steps() == {}
    storage = stack.outputs()["storage"]
    assert list(storage) == ["/fsx"]


def test_a_reservation_that_is_full_is_named_and_the_next_up_finishes(
    stack: PaperStack, cloud: PaperCloud
) -> None:
    wanted = cluster()
    wanted["pools"][0]["capacity"] = {"reservation": HELD}
    stack.change(wanted)
    cloud.set(Scenario(reservations=(Reservation(id=HELD, type=TYPE, count=1, zone=ZONE),)))
    message = said(stack.up())
    assert "does not have sufficient compatible and available capacity" in message

    ec2 = stack.client("ec2")
    ec2.modify_capacity_reservation(CapacityReservationId=HELD, InstanceCount=2)
    stack.must_up()
    assert len(stack.instances("train")) == 2


def test_a_lost_instance_is_seen_by_a_refresh_and_its_successor_has_its_name(
    stack: PaperStack,
) -> None:
    stack.must_up()
    lost = stack.instances("train")[0]["InstanceId"]
    stack.client("ec2").terminate_instances(InstanceIds=[lost])
    stack.must(stack.muster("up", stack.stack, "--yes"))
    now = {tags(i)["muster:node"]: i["InstanceId"] for i in stack.instances("train")}
    assert list(now) == ["train-1", "train-2"]
    assert lost not in now.values()
    assert stack.steps() == {}


def test_a_pool_that_shrinks_loses_its_highest_nodes(stack: PaperStack) -> None:
    stack.change(cluster(3))
    stack.must_up()
    before = {tags(i)["muster:node"]: i["InstanceId"] for i in stack.instances("train")}
    stack.change(cluster(1))
    stack.must_up()
    after = {tags(i)["muster:node"]: i["InstanceId"] for i in stack.instances("train")}
    assert after == {"train-1": before["train-1"]}
    assert stack.steps() == {}


def test_drift_is_seen_by_a_refresh_and_mended_by_the_next_up(stack: PaperStack) -> None:
    stack.must_up()
    ec2 = stack.client("ec2")
    rules = ec2.describe_security_group_rules()["SecurityGroupRules"]
    own = [r for r in rules if not r["IsEgress"] and r.get("ReferencedGroupInfo")]
    same = [r for r in own if r["ReferencedGroupInfo"]["GroupId"] == r["GroupId"]]
    revoked = same[0]
    ec2.revoke_security_group_ingress(
        GroupId=revoked["GroupId"], SecurityGroupRuleIds=[revoked["SecurityGroupRuleId"]]
    )
    stack.must(stack.refresh())
    assert "create" in stack.steps().values(), "EFA's own rule is missing"
    stack.must_up()
    assert stack.steps() == {}


def test_an_up_that_is_killed_is_finished_by_the_next(stack: PaperStack, cloud: PaperCloud) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-m", "muster.cli.main", "up", stack.stack, "--yes"],
        cwd=stack.directory,
        env=stack.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _wait_for_call(cloud, "CreateLaunchTemplate", killed)
    _kill(killed)
    stack.must(stack.muster("up", stack.stack, "--yes"))
    assert len(stack.instances("train")) == 2
    assert stack.steps() == {}


def _wait_for_call(cloud: PaperCloud, action: str, process: subprocess.Popen[bytes]) -> None:
    end_s = time.monotonic() + 120
    while not any(call.action == action for call in cloud.calls()):
        assert process.poll() is None, "it ended before it came that far"
        assert time.monotonic() < end_s
        time.sleep(0.2)


def _kill(process: subprocess.Popen[bytes]) -> None:
    everyone = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in everyone:
        one.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    psutil.wait_procs(everyone, timeout=30)
