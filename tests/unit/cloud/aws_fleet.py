"""A small AWS for tests of the fleet: moto, and recorded answers where moto has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway

REGION = "us-east-2"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS"
Answer = Callable[[Mapping[str, Any]], Any]


@cache
def clients() -> Clients:
    """Return the same clients for all tests: reading EC2's API model takes seconds."""
    return Clients(REGION)


class ManualClock:
    """Time that passes only while somebody waits; `when` runs at each wait."""

    def __init__(self, when: Callable[[], None] | None = None) -> None:
        self.seconds = 0.0
        self.when = when

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_s(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.when:
            self.when()


class PartlyRecorded(AwsGateway):
    """Real calls, to moto, but for the operations that have an answer here."""

    def __init__(self, **answers: Answer) -> None:
        super().__init__(clients())
        self.answers = answers
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def pages(
        self, service: str, operation: str, parameters: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        self.asked.append((operation, parameters))
        if operation not in self.answers:
            return super().pages(service, operation, parameters)
        return iter([self.answers[operation](parameters)])

    def count(self, operation: str) -> int:
        return sum(asked == operation for asked, _ in self.asked)


def console(parameters: Mapping[str, Any]) -> dict[str, str]:
    """What cloud-init prints."""
    del parameters
    lines = ("boot", "-----BEGIN SSH HOST KEY KEYS-----", KEY, "-----END SSH HOST KEY KEYS-----")
    return {"Output": "\r\n".join(f"[   12.5] cloud-init[9]: {line}" for line in lines)}


def topology(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Two nodes a leaf, in the order of their ids."""
    ids = sorted(parameters["InstanceIds"])
    rows = [
        {"InstanceId": name, "NetworkNodes": ["nn-1", f"nn-1{n // 4}", f"nn-1{n // 4}{n // 2}"]}
        for n, name in enumerate(ids)
    ]
    return {"Instances": rows}


def gateway(**answers: Answer) -> PartlyRecorded:
    """Return a cloud whose consoles and topology answer at once."""
    usual: dict[str, Answer] = {
        "get_console_output": console,
        "describe_instance_topology": topology,
    }
    return PartlyRecorded(**{**usual, **answers})


def make_group(size: int, *, name: str = "train-group", kind: str = "p5.48xlarge") -> None:
    """Make an Auto Scaling group of so many instances."""
    ec2, scaling = clients().client("ec2"), clients().client("autoscaling")
    template = ec2.create_launch_template(
        LaunchTemplateName=name, LaunchTemplateData={"ImageId": _image(), "InstanceType": kind}
    )["LaunchTemplate"]["LaunchTemplateId"]
    scaling.create_auto_scaling_group(
        AutoScalingGroupName=name,
        LaunchTemplate={"LaunchTemplateId": template, "Version": "1"},
        MinSize=0,
        MaxSize=size,
        DesiredCapacity=size,
        AvailabilityZones=[f"{REGION}a"],
    )


def resize(size: int, name: str = "train-group") -> None:
    """Change what the group wants; where that is less, moto ends instances of its own choice."""
    clients().client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=name, MaxSize=size, DesiredCapacity=size
    )


@cache
def _image() -> str:
    """Return any image: moto has the same ones every time."""
    found = clients().client("ec2").describe_images(Owners=["amazon"])
    return str(found["Images"][0]["ImageId"])


def make_head() -> str:
    """Start an instance outside of any group."""
    ec2 = clients().client("ec2")
    made = ec2.run_instances(ImageId=_image(), MinCount=1, MaxCount=1, InstanceType="m7i.2xlarge")
    return str(made["Instances"][0]["InstanceId"])


def members(name: str = "train-group") -> list[str]:
    """Return the group's instances."""
    found = (
        clients().client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    )
    return [entry["InstanceId"] for entry in found["AutoScalingGroups"][0]["Instances"]]


def inputs(head: str, *, size: int = 4, count: int = 3) -> dict[str, Any]:
    """Return what a program gives to the Fleet resource."""
    return {
        "stack": "demo",
        "region": REGION,
        "zoneId": "use2-az1",
        "pools": [
            {
                "name": "train",
                "type": "p5.48xlarge",
                "size": size,
                "count": count,
                "group": "train-group",
            }
        ],
        "head": {"instance": head, "type": "m7i.2xlarge"},
        "access": {"user": "ubuntu", "keyFile": "~/.ssh/id_ed25519", "via": "sessionManager"},
        "launched": {"train": "lt-1:1"},
        "storage": [{"mount": "/fsx", "kind": "efs", "address": "fs-1"}],
    }
