"""What a cluster is wanted to be: the typed form of `muster:cluster` in a stack's config."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from muster.catalog import Catalog
from muster.spec_errors import SpecError, gather, mistakes_of
from muster.spec_file import load_stack_file
from muster.spec_forms import (
    BUCKET,
    BUCKET_NAME,
    CAPACITY_ID,
    CHECK,
    FILE_SYSTEM_ID,
    IMAGE_ID,
    KUBERNETES,
    LAB_NAME,
    MOUNT,
    POOL_NAME,
    PUBLIC_KEY,
    RESOURCE_GROUP,
    RULE,
    SOFTWARE,
    SUBNET_ID,
    TIME,
    TYPE_NAME,
    URN,
    USER,
    VPC_ID,
    ZONE_ID,
    written_day,
)
from muster.spec_rules import broken_rules

__all__ = [
    "Acceptance",
    "ClusterSpec",
    "LabSettings",
    "PolicyTable",
    "Pool",
    "SpecError",
    "Storage",
    "Waiver",
    "json_schema",
    "load_stack_file",
    "parse_spec",
]

Stage = Literal["infra", "converge", "accept"]
Preset = Literal["quick", "training", "soak"]

Text = Annotated[str, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1, le=100_000)]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]


def _flag(value: Any) -> Any:
    """Refuse 1, which a Literal takes for true."""
    if isinstance(value, bool):
        return value
    raise PydanticCustomError("bool_type", "not true or false")


Yes = Annotated[Literal[True], BeforeValidator(_flag)]


def _written_day(value: Any) -> Any:
    """A bare number is no day, though pydantic would read seconds since 1970."""
    if isinstance(value, str):
        return written_day(value)
    if isinstance(value, date):
        return value
    raise PydanticCustomError("date_type", "not a day")


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


class Network(_Section):
    """Where in a cloud the nodes stand."""

    zone_id: Annotated[Text, Field(pattern=ZONE_ID, examples=["use2-az1"])]
    """Id of the availability zone; names differ between accounts, ids do not."""
    cidr: Annotated[Text, Field(examples=["10.0.0.0/16"])] = "10.0.0.0/16"
    """Private address range of the stack, /16 to /28."""
    vpc_id: Annotated[Text, Field(pattern=VPC_ID)] | None = None
    """An existing VPC to build in; a new one by default."""
    subnet_id: Annotated[Text, Field(pattern=SUBNET_ID)] | None = None
    """An existing private subnet for all nodes; needs vpcId. Its routes are left as they are."""
    internet: Literal["nat", "endpoints"] = "nat"
    """How nodes get out: a NAT gateway, or only endpoints of the cloud's own services."""


class Access(_Section):
    """Who may log in to the nodes, and which way; the network lets nobody in from outside."""

    user: Annotated[Text, Field(pattern=USER)] = "ubuntu"
    """The image's own user, which may become root."""
    public_keys: Annotated[
        tuple[Annotated[Text, Field(pattern=PUBLIC_KEY)], ...], Field(min_length=1)
    ]
    """Keys that the nodes accept."""
    key_file: Text = "~/.ssh/id_ed25519"
    """The private key, on the machine that runs muster, that belongs to one of them."""
    via: Literal["sessionManager", "direct"] = "sessionManager"
    """Through AWS Session Manager, or by a route of your own (VPN, Direct Connect, peering)."""


class Head(_Section):
    """The node that runs the scheduler; aws only."""

    type: Annotated[Text, Field(pattern=TYPE_NAME)] = "m7i.2xlarge"
    """Instance type; a name of the catalog."""
    image: Annotated[Text, Field(pattern=IMAGE_ID)] | None = None
    """Its image; the cluster's by default."""
    root_gib: Annotated[PositiveCount, Field(alias="rootGiB")] = 200
    """Size of its root disk."""


class Bucket(_Section):
    """A bucket that the stack makes; it outlives the stack."""

    name: Annotated[Text, Field(pattern=BUCKET_NAME)]
    """Its name, unique in the world."""


class Kubernetes(_Section):
    """The EKS cluster; only with scheduler kubernetes."""

    version: Annotated[Text, Field(pattern=KUBERNETES)]
    """Minor version."""


class Acknowledgement(_Section):
    """Lets one planned loss happen: without it a preview that deletes data fails."""

    urn: Annotated[Text, Field(pattern=URN)]
    """The resource, as the preview names it."""
    reason: Annotated[Text, Field(min_length=10)]
    """Why; the report repeats it."""
    until: Annotated[date, BeforeValidator(_written_day)]
    """The last day on which it holds."""


class RuleWaiver(_Section):
    """Lets one preflight rule fail or stay unknown, for a reason and until a day."""

    rule: Annotated[Text, Field(pattern=RULE)]
    """Id of the rule."""
    reason: Annotated[Text, Field(min_length=10)]
    """Why; the report repeats it."""
    until: Annotated[date, BeforeValidator(_written_day)]
    """The last day on which it holds."""


class Preflight(_Section):
    """What is let through before anything is built."""

    waivers: tuple[RuleWaiver, ...] = ()
    """Rules that may fail or stay unknown."""
    acknowledge: tuple[Acknowledgement, ...] = ()
    """Losses that are wanted."""


class Capacity(_Section):
    """How a pool is bought; exactly one of the first five."""

    on_demand: Yes | None = None
    """Pay by the hour."""
    spot: Yes | None = None
    """Cheaper; may be taken away at any time."""
    reservation: Annotated[Text, Field(pattern=CAPACITY_ID)] | None = None
    """Id of an on-demand capacity reservation."""
    block: Annotated[Text, Field(pattern=CAPACITY_ID)] | None = None
    """Id of a Capacity Block that was bought."""
    resource_group: Annotated[Text, Field(pattern=RESOURCE_GROUP)] | None = None
    """ARN of a resource group of on-demand capacity reservations."""
    ends: Annotated[Text, Field(pattern=TIME, examples=["2026-12-01T11:30Z"])] | None = None
    """When the Capacity Block ends, as its offer said."""


class Pool(_Section):
    """Nodes of one type bought one way; its nodes are called <name>-1, <name>-2 and so on."""

    name: Annotated[Text, Field(pattern=POOL_NAME)]
    """Beginning of its node names."""
    type: Text
    """Instance type; a name of the catalog."""
    count: Count
    """Nodes that must be accepted."""
    spares: Annotated[int, Field(strict=True, ge=0, le=100_000)] = 0
    """Nodes beyond `count` that take the place of bad ones."""
    capacity: Capacity | None = None
    """How it is bought; required on aws."""
    placement: Literal["cluster", "partition", "spread"] | None = None
    """Placement group of the nodes; aws only. A pool with EFA has cluster by default."""
    image: Annotated[Text, Field(pattern=IMAGE_ID)] | None = None
    """Image of its nodes, aws only; the cluster's by default."""
    interfaces: Literal["fewAddresses", "fullBandwidth"] = "fewAddresses"
    """One address a node, or more interfaces with addresses for more bandwidth beside EFA."""
    root_gib: Annotated[PositiveCount, Field(alias="rootGiB")] = 200
    """Size of the root disk; aws only."""


class Storage(_Section):
    """A file system that every node mounts."""

    mount: Annotated[Text, Field(pattern=MOUNT, examples=["/fsx"])]
    """Where every node finds it."""
    kind: Literal["fsxLustre", "fsxOpenZfs", "efs", "localNvme", "labDirectory"]
    """FSx for Lustre, FSx for OpenZFS, EFS, the nodes' own disks as one, or a lab's directory."""
    id: Annotated[Text, Field(pattern=FILE_SYSTEM_ID)] | None = None
    """An existing file system; muster mounts it and never deletes it."""
    deployment: Literal["scratch2", "persistent2", "intelligentTiering"] | None = None
    """How FSx for Lustre keeps data; persistent2 by default."""
    capacity_gib: Annotated[PositiveCount | None, Field(alias="capacityGiB")] = None
    """Size of the file system."""
    throughput: PositiveCount | None = None
    """MB/s per TiB (fsxLustre persistent2), else MB/s in all."""
    metadata_iops: PositiveCount | None = None
    """Metadata operations per second of FSx for Lustre; AWS decides by default."""
    efa: Flag = False
    """Reach it over EFA; cannot be switched later."""
    import_: Annotated[Text | None, Field(alias="import", pattern=BUCKET)] = None
    """Bucket and prefix that fill it."""
    export: Flag = False
    """Write changes back to what `import` names."""


class Budget(_Section):
    """What the stack may cost; a plan above it is refused."""

    max_hourly_usd: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
    """USD per hour at list price."""


class PolicyTable(_Section):
    """An acceptance policy of one's own: a preset, and what differs from it."""

    base: Preset = "quick"
    """The preset that it starts from."""
    intra_leaf_rounds: Annotated[int, Field(strict=True, ge=0, le=64)] | None = None
    """Rounds of pair tests between nodes of one leaf."""
    cross_leaf_rounds: Annotated[int, Field(strict=True, ge=0, le=64)] | None = None
    """Rounds of pair tests between nodes of two leaves."""
    confirm_rounds: Annotated[int, Field(strict=True, ge=0, le=64)] | None = None
    """Rounds that test a suspect again before it counts as bad."""
    pair_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] | None = None
    """Time of a pair test in each direction."""
    local_windows: Annotated[int, Field(strict=True, ge=2, le=10_000)] | None = None
    """Windows of each benchmark on one node."""
    group_iterations: Annotated[int, Field(strict=True, ge=1, le=100_000)] | None = None
    """All-reduces over the whole fleet."""


class Waiver(_Section):
    """Lets an unknown or failed check through, for a reason and until a day."""

    check: Annotated[Text, Field(pattern=CHECK)]
    """Id of the check."""
    reason: Annotated[Text, Field(min_length=10)]
    """Why; the report repeats it."""
    until: Annotated[date, BeforeValidator(_written_day)]
    """The last day on which it holds."""


def _policy_form(value: Any) -> str:
    return "table" if isinstance(value, dict | PolicyTable) else "preset"


Policy = Annotated[
    Annotated[Preset, Tag("preset")] | Annotated[PolicyTable, Tag("table")],
    Discriminator(_policy_form),
]


class Acceptance(_Section):
    """How hard the fleet is tested before it counts as ready."""

    policy: Policy = "quick"
    """A preset, or a table of your own."""
    waivers: tuple[Waiver, ...] = ()
    """What is let through, why and until when."""


class LabSettings(_Section):
    """The shape of a lab; only with target lab."""

    name: Annotated[Text, Field(pattern=LAB_NAME)] | None = None
    """Prefix of all that the lab makes on this machine; the stack's name, shortened, by default."""
    nodes_per_leaf: Annotated[int, Field(strict=True, ge=1, le=64)] = 2
    """Two tell a slow uplink from a slow node."""
    rail_rate_mbit: Annotated[int, Field(strict=True, ge=1, le=100_000)] | None = None
    """Rate of every rail; what the instance type states by default."""
    uplink_rate_mbit: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] | None = None
    """Rate of a leaf's uplink on each rail plane; by default enough for all its nodes at once."""


class ClusterSpec(_Section):
    """A cluster: where, of which nodes, with what on it, and how it is proved."""

    target: Literal["aws", "hosts", "lab"]
    """Where nodes come from."""
    scheduler: Literal["slurm", "kubernetes"] = "slurm"
    """What users give their jobs to."""
    network: Network | None = None
    """Where in a cloud the nodes stand."""
    access: Access | None = None
    """Who may log in; aws only."""
    head: Head | None = None
    """The node that runs the scheduler; aws only."""
    image: Annotated[Text, Field(pattern=IMAGE_ID)] | None = None
    """Image of all nodes, by its id, so that it never changes by itself; aws only."""
    kubernetes: Kubernetes | None = None
    """The EKS cluster."""
    pools: tuple[Pool, ...]
    """The nodes; none only for an aws stack of nothing but storage."""
    storage: tuple[Storage, ...] = ()
    """File systems that every node mounts."""
    buckets: tuple[Bucket, ...] = ()
    """Buckets that the stack makes."""
    tags: dict[Text, Text] = Field(default_factory=dict)
    """Tags of every resource in the cloud."""
    preflight: Preflight = Preflight()
    """Failures and losses that a plan lets through."""
    software: Annotated[Text, Field(pattern=SOFTWARE, examples=["2026.11"])] | None = None
    """A row of the tested version matrix."""
    budget: Budget | None = None
    """What the stack may cost."""
    acceptance: Acceptance = Acceptance()
    """How the fleet is proved."""
    lab: LabSettings | None = None
    """The shape of a lab."""
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)] = ("infra", "converge", "accept")
    """How far `up` goes."""

    @property
    def wanted(self) -> int:
        """Nodes that must be accepted; spares come on top."""
        return sum(pool.count for pool in self.pools)


def parse_spec(data: object, *, where: str, catalog: Catalog, today: date) -> ClusterSpec:
    """Turn the value of `muster:cluster` into a spec.

    Raises:
        SpecError: the spec has mistakes; it carries all of them.

    """
    broken = list(broken_rules(data, catalog, today))
    try:
        spec = ClusterSpec.model_validate(data)
    except ValidationError as error:
        found = gather(data, mistakes_of(error, ClusterSpec), broken)
        raise SpecError(found, where=where) from None
    if broken:
        raise SpecError(gather(data, (), broken), where=where)
    return spec


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `muster:cluster`, for editors."""
    schema = ClusterSpec.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
