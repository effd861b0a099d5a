"""What to ask AWS about a plan. Pure: questions are data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from muster.catalog.quotas import Quota, load_quotas
from muster.cloud.asking import Question
from muster.plan.aws.model import AwsPlan

NO_GROUP = frozenset({"NotFoundException", "BadRequestException"})
NO_BUCKET = frozenset({"404", "NoSuchBucket"})
NO_TAGS = frozenset({"NoSuchTagSet", *NO_BUCKET})
NO_IMAGE = frozenset({"InvalidAMIID.NotFound", "InvalidAMIID.Unavailable"})
NO_FILE_SYSTEM = frozenset({"FileSystemNotFound"})
WHO = Question(service="sts", operation="get_caller_identity")


def questions_of(plan: AwsPlan) -> dict[str, Question]:
    """Return all questions by name, but who asks and the dry runs, which need other answers."""
    parts = (_capacity(plan), _network(plan), _storage(plan), _nodes(plan), _quotas(plan))
    return dict(chain.from_iterable(parts))


def types_of(plan: AwsPlan) -> list[str]:
    """Return every instance type of the plan, once."""
    head = {plan.head.type.name} if plan.head else set()
    return sorted({pool.type.name for pool in plan.pools} | head)


def quotas_of(plan: AwsPlan) -> tuple[Quota, ...]:
    """Return the quotas that the plan takes a share of."""
    facts = load_quotas()
    bought = [(pool.type.name, pool.capacity.buying) for pool in plan.pools]
    bought += [(plan.head.type.name, "onDemand")] if plan.head else []
    vcpus = {facts.vcpu_quota(n, "spot" if b == "spot" else "onDemand") for n, b in bought}
    found = sorted((quota for quota in vcpus if quota), key=lambda quota: quota.code)
    return (*found, facts.network_interfaces, *facts.regional)


def import_bucket(repository: str) -> str:
    """Return the bucket of s3://bucket/prefix."""
    return repository.removeprefix("s3://").partition("/")[0]


def buckets_of(plan: AwsPlan) -> list[str]:
    """Return every bucket that the plan makes or reads from."""
    read = {import_bucket(s.data_repository) for s in plan.file_systems if s.data_repository}
    return sorted(read | {bucket.name for bucket in plan.buckets})


def _ec2(operation: str, of: str, **filters: list[str]) -> Question:
    listed = [{"Name": n.replace("_", "-"), "Values": values} for n, values in filters.items()]
    parameters = {"Filters": listed} if listed else {}
    return Question(service="ec2", operation=operation, parameters=parameters, of=of)


def _tagged(operation: str, of: str, stack: str) -> Question:
    filters = [{"Name": "tag:muster:stack", "Values": [stack]}]
    parameters = {"Filters": filters}
    return Question(service="ec2", operation=operation, parameters=parameters, of=of)


def _capacity(plan: AwsPlan) -> Iterator[tuple[str, Question]]:
    types = types_of(plan)
    if not types:
        return
    # Filters and not ids: an id that does not exist is then an answer and not an error.
    offers = _ec2("describe_instance_type_offerings", "InstanceTypeOfferings", instance_type=types)
    where = {**offers.parameters, "LocationType": "availability-zone-id"}
    yield (
        "offers",
        Question(service="ec2", operation=offers.operation, parameters=where, of=offers.of),
    )
    yield "types", _ec2("describe_instance_types", "InstanceTypes", instance_type=types)
    yield "reservations", _ec2("describe_capacity_reservations", "CapacityReservations")
    yield "placement_groups", _tagged("describe_placement_groups", "PlacementGroups", plan.stack)
    running = ["pending", "running"]
    instances = _ec2("describe_instances", "Reservations", instance_state_name=running)
    yield "instances", instances
    for pool in plan.pools:
        if pool.capacity.buying == "resourceGroup":
            yield (
                f"group {pool.capacity.id}",
                Question(
                    service="resource-groups",
                    operation="list_group_resources",
                    parameters={"Group": pool.capacity.id},
                    of="ResourceIdentifiers",
                    absent=NO_GROUP,
                ),
            )


def _network(plan: AwsPlan) -> Iterator[tuple[str, Question]]:
    yield "subnets", _ec2("describe_subnets", "Subnets")
    yield "vpcs", _ec2("describe_vpcs", "Vpcs")
    yield "interfaces", _ec2("describe_network_interfaces", "NetworkInterfaces")
    yield "endpoints", _ec2("describe_vpc_endpoints", "VpcEndpoints")
    yield "addresses", _ec2("describe_addresses", "Addresses")
    yield "security_groups", _ec2("describe_security_groups", "SecurityGroups")
    vpc = plan.network.vpc_id
    if vpc is None:
        return
    yield "routes", _ec2("describe_route_tables", "RouteTables", vpc_id=[vpc])
    attached = {"Filters": [{"Name": "attachment.vpc-id", "Values": [vpc]}]}
    yield (
        "internet_gateways",
        Question(
            service="ec2",
            operation="describe_internet_gateways",
            parameters=attached,
            of="InternetGateways",
        ),
    )
    for name in ("enableDnsSupport", "enableDnsHostnames"):
        yield (
            name,
            Question(
                service="ec2",
                operation="describe_vpc_attribute",
                parameters={"VpcId": vpc, "Attribute": name},
                absent=frozenset({"InvalidVpcID.NotFound"}),
            ),
        )


def _storage(plan: AwsPlan) -> Iterator[tuple[str, Question]]:
    if any(system.kind.startswith("fsx") for system in plan.file_systems):
        yield (
            "fsx",
            Question(service="fsx", operation="describe_file_systems", of="FileSystems"),
        )
    for system in plan.file_systems:
        if system.kind != "efs" or system.id is None:
            continue
        parameters = {"FileSystemId": system.id}
        for name, operation, of in (
            ("efs", "describe_file_systems", "FileSystems"),
            ("targets", "describe_mount_targets", "MountTargets"),
        ):
            yield (
                f"{name} {system.id}",
                Question(
                    service="efs",
                    operation=operation,
                    parameters=parameters,
                    of=of,
                    absent=NO_FILE_SYSTEM,
                ),
            )
    for bucket in buckets_of(plan):
        named = {"Bucket": bucket}
        yield (
            f"bucket {bucket}",
            Question(service="s3", operation="head_bucket", parameters=named, absent=NO_BUCKET),
        )
        if bucket in {made.name for made in plan.buckets}:
            yield (
                f"tags {bucket}",
                Question(
                    service="s3",
                    operation="get_bucket_tagging",
                    parameters=named,
                    of="TagSet",
                    absent=NO_TAGS,
                ),
            )


def _nodes(plan: AwsPlan) -> Iterator[tuple[str, Question]]:
    images = {pool.image for pool in plan.pools} | ({plan.head.image} if plan.head else set())
    for image in sorted(image for image in images if image):
        # By id and not by filter: AWS hides deprecated images of others from a search.
        yield (
            f"image {image}",
            Question(
                service="ec2",
                operation="describe_images",
                parameters={"ImageIds": [image]},
                of="Images",
                absent=NO_IMAGE,
            ),
        )


def _quotas(plan: AwsPlan) -> Iterator[tuple[str, Question]]:
    for quota in quotas_of(plan):
        parameters = {"ServiceCode": quota.service, "QuotaCode": quota.code}
        yield (
            f"quota {quota.code}",
            Question(
                service="service-quotas", operation="get_service_quota", parameters=parameters
            ),
        )
