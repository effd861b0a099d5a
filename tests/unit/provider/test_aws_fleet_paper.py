"""The fleet against the simulated cloud: no capacity, throttling, late answers, losses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway
from muster.fleet import Fleet
from muster.progress import silent
from muster.provider.aws import AwsFleetHandler
from muster.provider.handler import InitFailedError, Properties
from papercloud.cloud.scenario import Fault, Scenario
from papercloud.server import PaperCloud
from tests.unit.cloud.aws_fleet import REGION, inputs
from tests.unit.papercloud.cloud.clouds import MovedClock, subnet

IMAGE = "ami-0123456789abcdef0"
KIND = "p5.48xlarge"
PAPER = "paper.8gpu"
SCARCE = {f"{KIND}/us-east-2a": 3}
GROUP = "train-group"


class Account:
    """A simulated account with a head and a group of four, and the fleet made of them."""

    def __init__(self, cloud: PaperCloud, clock: MovedClock, root: Path, kind: str) -> None:
        self.kind = kind
        self.cloud = cloud
        self.clients = Clients(REGION)
        gateway = AwsGateway(self.clients)
        self.handler = AwsFleetHandler(root, clock, lambda _region: gateway)
        self.subnet = subnet(cloud)
        self.head = self._launch_head()
        self._make_group()

    def client(self, service: str) -> Any:
        return self.clients.client(service)

    def _launch_head(self) -> str:
        made = self.client("ec2").run_instances(
            ImageId=IMAGE,
            InstanceType="m7i.2xlarge",
            SubnetId=self.subnet,
            MinCount=1,
            MaxCount=1,
        )
        return str(made["Instances"][0]["InstanceId"])

    def _make_group(self) -> None:
        data: dict[str, Any] = {"ImageId": IMAGE, "InstanceType": self.kind}
        if self.kind == PAPER:
            data["NetworkInterfaces"] = [
                {
                    "NetworkCardIndex": card,
                    "DeviceIndex": min(card, 1),
                    "InterfaceType": "interface",
                }
                for card in range(3)
            ]
        template = self.client("ec2").create_launch_template(
            LaunchTemplateName="train", LaunchTemplateData=data
        )["LaunchTemplate"]
        self.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=GROUP,
            LaunchTemplate={"LaunchTemplateId": template["LaunchTemplateId"], "Version": "1"},
            MinSize=0,
            MaxSize=4,
            DesiredCapacity=4,
            VPCZoneIdentifier=self.subnet,
            NewInstancesProtectedFromScaleIn=True,
        )

    def create(self, **sizes: int) -> Properties:
        return self.handler.create("fleet", inputs(self.head, **sizes), silent)[1]

    def update(self, old: Properties, **sizes: int) -> Properties:
        return self.handler.update("demo", old, inputs(self.head, **sizes), silent)

    def resize(self, size: int) -> None:
        self.client("autoscaling").update_auto_scaling_group(
            AutoScalingGroupName=GROUP, MaxSize=size, DesiredCapacity=size
        )

    def kill(self, instance: str) -> None:
        self.client("ec2").terminate_instances(InstanceIds=[instance])


@contextmanager
def account(root: Path, scenario: Scenario, kind: str = KIND) -> Iterator[Account]:
    clock = MovedClock()
    with PaperCloud(scenario, clock=clock) as cloud, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": cloud.endpoint,
            "AWS_ACCESS_KEY_ID": "paper",
            "AWS_SECRET_ACCESS_KEY": "paper",
            "MUSTER_LAUNCH_WAIT_S": "60",
        }.items():
            patch.setenv(name, value)
        yield Account(cloud, clock, root, kind)


def ids(state: Properties) -> dict[str, str]:
    return {name: boot.partition(":")[0] for name, boot in state["boots"].items()}


def test_insufficient_capacity_is_named_and_a_second_up_finishes(tmp_path: Path) -> None:
    with account(tmp_path, Scenario(capacity=SCARCE)) as aws:
        with pytest.raises(
            InitFailedError, match="3 of 4 .*InsufficientInstanceCapacity: We"
        ) as short:
            aws.create(count=4)
        aws.cloud.set(Scenario())
        state = aws.update(short.value.outputs, count=4)
        assert state["missing"] == {}
        assert ids(short.value.outputs).items() <= ids(state).items()


def test_a_spare_that_finds_no_capacity_holds_up_nobody(tmp_path: Path) -> None:
    with account(tmp_path, Scenario(capacity=SCARCE)) as aws:
        state = aws.create(count=3)
        assert "sufficient p5.48xlarge capacity" in state["missing"]["train-4"]
        aws.cloud.set(Scenario())
        aws.update(state, count=3)
        seen = aws.handler.read("demo", state)
        assert set(seen["drift"]) == {"train-4"}


def test_a_throttled_cloud_is_asked_again(tmp_path: Path) -> None:
    faults = (
        Fault(match="ec2:DescribeInstances", code="RequestLimitExceeded", count=2),
        Fault(match="ec2:CreateTags", code="RequestLimitExceeded", count=2),
    )
    with account(tmp_path, Scenario()) as aws:
        aws.cloud.set(Scenario(faults=faults))
        assert len(aws.create()["addresses"]) == 5


def test_machines_keys_and_places_that_come_late_are_waited_for(tmp_path: Path) -> None:
    late = Scenario(instance_start_s=20, console_after_s=40, topology_visible_after=60)
    with account(tmp_path, late) as aws:
        fleet = Fleet.model_validate(aws.create()["fleet"])
        assert all(node.leaf and len(node.switches) == 2 for node in fleet.nodes)
        assert all(node.host_key.startswith("ssh-ed25519 ") for node in fleet.nodes)


def test_places_that_come_too_late_are_unknown_until_the_next_look(tmp_path: Path) -> None:
    with account(tmp_path, Scenario(topology_visible_after=600)) as aws:
        state = aws.create()
        assert set(state["unplaced"]) == {"train-1", "train-2", "train-3", "train-4"}
        aws.cloud.set(Scenario())
        assert aws.update(state)["unplaced"] == {}


def test_an_instance_that_dies_is_noticed_and_its_successor_is_named_as_it_was(
    tmp_path: Path,
) -> None:
    with account(tmp_path, Scenario()) as aws:
        state = aws.create()
        aws.kill(ids(state)["train-3"])
        seen = aws.handler.read("demo", state)
        assert "train-3" in seen["drift"]
        after = aws.update(seen)
        assert after["missing"] == {}
        assert after["boots"]["train-3"] != state["boots"]["train-3"]
        assert {n: b for n, b in after["boots"].items() if n != "train-3"}.items() <= (
            state["boots"].items()
        )
        assert aws.handler.read("demo", after)["drift"] == {}


def test_a_group_that_shrinks_keeps_its_protected_instances_until_we_end_the_last(
    tmp_path: Path,
) -> None:
    with account(tmp_path, Scenario()) as aws:
        state = aws.create()
        aws.resize(2)
        assert aws.handler.read("demo", state)["drift"] == {}
        after = aws.update(state, size=2, count=2)
        assert list(after["addresses"]) == ["head", "train-1", "train-2"]
        assert ids(after).items() <= ids(state).items()
        again = aws.update(after, size=2, count=2)
        assert again["boots"] == after["boots"]


def test_the_head_that_is_gone_is_said(tmp_path: Path) -> None:
    with account(tmp_path, Scenario()) as aws:
        state = aws.create()
        aws.kill(aws.head)
        assert "head" in aws.handler.read("demo", state)["drift"]
        with pytest.raises(InitFailedError, match=r"head: its instance i-\w+ does not run"):
            aws.update(state)


def test_rails_over_cards_with_addresses_have_the_address_of_their_card(tmp_path: Path) -> None:
    with account(tmp_path, Scenario(), PAPER) as aws:
        given = inputs(aws.head)
        given["pools"][0]["type"] = PAPER
        fleet = Fleet.model_validate(aws.handler.create("fleet", given, silent)[1]["fleet"])
        node = fleet.node("train-1")
        found = aws.client("ec2").describe_instances(InstanceIds=[node.serial])
        cards = {
            one["Attachment"]["NetworkCardIndex"]: one["PrivateIpAddress"]
            for one in found["Reservations"][0]["Instances"][0]["NetworkInterfaces"]
        }
        assert node.address == cards[0]
        assert [(r.interface, r.address) for r in node.rails] == [
            ("rail0", cards[1]),
            ("rail1", cards[2]),
        ]
