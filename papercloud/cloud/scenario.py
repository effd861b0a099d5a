"""What a simulated cloud is like: its capacity, prices, delays, and the faults it answers with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from muster.errors import UsageError
from papercloud.cloud.codes import mistake_in

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fault(_Row):
    """An answer in place of the right one.

    It hits calls whose `service:Action` matches the pattern: the first `count` of them, or a share
    `rate` of all. Without a code the call is only late by `delay_s`.
    """

    match: str = Field(pattern=r"^[a-z0-9*?-]+:[A-Za-z0-9*?]+$")
    code: str = ""
    message: str = ""
    count: int | None = Field(default=None, ge=1)
    rate: float | None = Field(default=None, gt=0, le=1)
    delay_s: Seconds = 0

    @model_validator(mode="after")
    def _sent_by_aws(self) -> Self:
        mistake = mistake_in(self.match, self.code) if self.code else ""
        if not self.code and not self.delay_s:
            mistake = "a fault needs a code or a delay_s"
        if mistake:
            raise ValueError(mistake)
        return self


class BlockOffering(_Row):
    """A Capacity Block that can be bought; it begins `starts_in_s` after the scenario was set."""

    id: str = Field(pattern=r"^cbo-[0-9a-f]+$")
    type: str
    count: int = Field(ge=1)
    hours: int = Field(ge=1)
    zone: str
    """Name of the zone."""
    starts_in_s: Seconds = 0
    upfront_usd: float = Field(ge=0)


class Reservation(_Row):
    """A reservation that the account has; times count from when the scenario was set."""

    id: str = Field(pattern=r"^cr-[0-9a-f]+$")
    type: str
    count: int = Field(ge=1)
    zone: str
    block: bool = False
    """A Capacity Block, and not an on-demand reservation."""
    match: Literal["open", "targeted"] = "targeted"
    starts_in_s: float = 0
    """Less than 0: it began earlier."""
    ends_in_s: float | None = None

    @model_validator(mode="after")
    def _block_ends(self) -> Self:
        if self.block and self.ends_in_s is None:
            message = f"{self.id}: a Capacity Block needs ends_in_s"
            raise ValueError(message)
        return self


class Image(_Row):
    """A machine image that the account can see."""

    architecture: Literal["x86_64", "arm64"] = "x86_64"
    boot_mode: Literal["legacy-bios", "uefi", "uefi-preferred"] | None = None
    root_device: str = "/dev/sda1"
    name: str = "paper-image"


_IMAGES = {
    "ami-0123456789abcdef0": Image(boot_mode="uefi-preferred"),
    "ami-0123456789abcdef1": Image(architecture="arm64", boot_mode="uefi"),
}


class Scenario(_Row):
    """Everything that can be different from one simulated account to the next."""

    seed: int = 0
    faults: tuple[Fault, ...] = ()
    capacity: Mapping[str, int] = Field(default_factory=dict)
    """How many instances can run, by `type/zone`, both patterns; without a row as many as asked."""
    offered: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Zones (name or id) that have a type; types without a row are in every zone."""
    visible_after: Seconds = 0
    """How long a new EC2 resource is not found by calls that name it."""
    topology_visible_after: Seconds = 0
    instance_start_s: Seconds = 0
    console_after_s: Seconds = 0
    fsx_create_s: Seconds = 0
    fsx_update_s: Seconds = 0
    fsx_delete_s: Seconds = 0
    cr_pending_s: Seconds = 0
    eks_create_s: Seconds = 0
    quotas: Mapping[str, float] = Field(default_factory=dict)
    """Granted quotas by code, as L-417A185B; the others are `quota_otherwise`."""
    quota_otherwise: float = Field(default=100_000, ge=0)
    prices: Mapping[str, float] = Field(default_factory=dict)
    """On-demand USD per hour, where it differs from muster's catalog."""
    spot_prices: Mapping[str, float] = Field(default_factory=dict)
    """USD per hour by `type/zone`, both patterns, where it differs from muster's catalog."""
    block_offerings: tuple[BlockOffering, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    """Reservations and Capacity Blocks that exist already."""
    zone_ids: Mapping[str, str] = Field(default_factory=dict)
    """Zone ids by zone name, as {us-east-2a: use2-az3}; the others as AWS usually has them."""
    images: Mapping[str, Image] = Field(default_factory=lambda: dict(_IMAGES))
    parameters: Mapping[str, str] = Field(default_factory=dict)
    """Public SSM parameters: name and value."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a scenario from a JSON or YAML file.

        Raises:
            UsageError: no such file, or it is not a scenario.

        """
        try:
            return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        except (OSError, yaml.YAMLError) as error:
            raise UsageError(f"cannot be read: {error}", where=str(path)) from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(step) for step in first["loc"])
            raise UsageError(f"{place}: {first['msg']}", where=str(path)) from error
