"""What a cluster is wanted to be: the typed form of `muster:cluster` in a stack's config."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic.alias_generators import to_camel

from muster.catalog import Catalog
from muster.spec_errors import Mistake, SpecError, mistakes_of
from muster.spec_rules import broken_rules

Stage = Literal["infra", "converge", "accept"]
Preset = Literal["quick", "training", "soak"]

Text = Annotated[str, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1, le=100_000)]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=False
    )


class Network(_Section):
    """Where in a cloud the nodes stand."""

    zone_id: Annotated[Text, Field(pattern=r"^[a-z]{3,5}\d-[a-z]+\d$", examples=["use2-az1"])]
    """Id of the availability zone; names differ between accounts, ids do not."""
    cidr: Annotated[Text, Field(examples=["10.0.0.0/16"])] = "10.0.0.0/16"


class Capacity(_Section):
    """How a pool is bought; exactly one of the four."""

    on_demand: Annotated[Literal[True] | None, Field(description="Pay by the hour.")] = None
    spot: Annotated[Literal[True] | None, Field(description="Cheaper; may be taken away.")] = None
    reservation: Annotated[Text, Field(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    """Id of an on-demand capacity reservation."""
    block: Annotated[Text, Field(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = None
    """Id of a Capacity Block that was bought."""


class Pool(_Section):
    """Nodes of one type bought one way; its nodes are called <name>-1, <name>-2 and so on."""

    name: Annotated[Text, Field(pattern=r"^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$")]
    type: Text
    """Instance type; a name of the catalog."""
    count: Count
    spares: Annotated[int, Field(strict=True, ge=0, le=100_000)] = 0
    """Nodes beyond `count` that take the place of bad ones."""
    capacity: Capacity | None = None
    placement: Literal["cluster", "partition", "spread"] | None = None


class Storage(_Section):
    """A file system that every node mounts."""

    mount: Annotated[Text, Field(pattern=r"^/[a-z0-9][a-z0-9/_-]*$", examples=["/fsx"])]
    kind: Literal["fsxLustre", "labDirectory"]
    capacity_gib: Annotated[PositiveCount | None, Field(alias="capacityGiB")] = None
    throughput: PositiveCount | None = None
    """MB/s per TiB."""
    efa: Flag = False
    import_: Annotated[Text | None, Field(alias="import", pattern=r"^s3://[a-z0-9.-]+(/.*)?$")] = (
        None
    )


class Budget(_Section):
    """What the stack may cost; a plan above it is refused."""

    max_hourly_usd: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class PolicyTable(_Section):
    """An acceptance policy of one's own: a preset, and what differs from it."""

    base: Preset = "quick"
    intra_leaf_rounds: Annotated[int, Field(strict=True, ge=0, le=64)] | None = None
    cross_leaf_rounds: Annotated[int, Field(strict=True, ge=0, le=64)] | None = None
    local_seconds: Annotated[int, Field(strict=True, ge=1, le=86_400)] | None = None
    group_seconds: Annotated[int, Field(strict=True, ge=1, le=604_800)] | None = None


class Waiver(_Section):
    """Lets an unknown or failed check through, for a reason and until a day."""

    check: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    reason: Annotated[Text, Field(min_length=10)]
    until: date


def _policy_form(value: Any) -> str:
    return "table" if isinstance(value, dict | PolicyTable) else "preset"


Policy = Annotated[
    Annotated[Preset, Tag("preset")] | Annotated[PolicyTable, Tag("table")],
    Discriminator(_policy_form),
]


class Acceptance(_Section):
    """How hard the fleet is tested before it counts as ready."""

    policy: Policy = "quick"
    waivers: tuple[Waiver, ...] = ()


class LabSettings(_Section):
    """The shape of a lab; only with target lab."""

    name: Annotated[Text, Field(pattern=r"^[a-z][a-z0-9]{0,7}$")] | None = None
    """Prefix of all that the lab makes on this machine; the stack's name, shortened, by default."""
    nodes_per_leaf: Annotated[int, Field(strict=True, ge=1, le=64)] = 2
    rail_rate_mbit: Annotated[int, Field(strict=True, ge=1, le=100_000)] | None = None
    """Rate of every rail; what the instance type states by default."""
    uplink_rate_mbit: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] | None = None
    """Rate of a leaf's uplink on each rail plane; by default enough for all its nodes at once."""


class ClusterSpec(_Section):
    """A cluster: where, of which nodes, with what on it, and how it is proved."""

    target: Literal["aws", "hosts", "lab"]
    scheduler: Literal["slurm", "kubernetes"] = "slurm"
    network: Network | None = None
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    storage: tuple[Storage, ...] = ()
    software: Annotated[Text, Field(pattern=r"^\d{4}\.\d{2}$", examples=["2026.11"])] | None = None
    """A row of the tested version matrix."""
    budget: Budget | None = None
    acceptance: Acceptance = Acceptance()
    lab: LabSettings | None = None
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)] = ("infra", "converge", "accept")

    @property
    def wanted(self) -> int:
        """Nodes that must be accepted; spares come on top."""
        return sum(pool.count for pool in self.pools)


def parse_spec(data: object, *, where: str, catalog: Catalog, today: date) -> ClusterSpec:
    """Turn the value of `muster:cluster` into a spec.

    Raises:
        SpecError: the spec has mistakes; it carries all of them.

    """
    mistakes: list[Mistake] = []
    spec: ClusterSpec | None = None
    try:
        spec = ClusterSpec.model_validate(data)
    except ValidationError as error:
        mistakes += mistakes_of(error, ClusterSpec)
    mistakes += broken_rules(data, catalog, today)
    if mistakes or spec is None:
        raise SpecError(mistakes, where=where)
    return spec


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `muster:cluster`, for editors."""
    schema = ClusterSpec.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
