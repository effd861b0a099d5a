"""What the AWS Price List API is asked, as facts: muster/catalog/prices_queries.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "prices_queries.yaml"
_REGION_PREFIX = "(?:[A-Z0-9]+-)?"

Item = Literal[
    "natGateway",
    "interfaceEndpoint",
    "eksControlPlane",
    "ebs.gp3",
    "efs.standard",
    "s3.standard",
    "fsxLustre.persistent2.125",
    "fsxLustre.persistent2.250",
    "fsxLustre.persistent2.500",
    "fsxLustre.persistent2.1000",
]
"""What has a price of its own and is no instance."""
Unit = Literal["hour", "gbMonth"]


class Query(Entry):
    """How one product is told from all others of its service."""

    service: str = Field(min_length=1)
    attributes: Mapping[str, str] = Field(min_length=1)
    unless: Mapping[str, str] = Field(default_factory=dict)
    usagetype: str = ""
    unit: Unit
    first_tier: bool = False
    source: str

    def of_type(self, name: str) -> Query:
        """Return the query for one instance type."""
        attributes = {**self.attributes, "instanceType": name}
        usagetype = self.usagetype.replace("{type}", name)
        return self.model_copy(update={"attributes": attributes, "usagetype": usagetype})

    def in_region(self, region: str) -> Query:
        """Return the query for one region."""
        return self.model_copy(update={"attributes": {**self.attributes, "regionCode": region}})

    def fits(self, attributes: Mapping[str, str]) -> bool:
        """Is that the product that is meant?"""
        if any(attributes.get(key) != value for key, value in self.attributes.items()):
            return False
        if any(attributes.get(key) == value for key, value in self.unless.items()):
            return False
        usage = _REGION_PREFIX + re.escape(self.usagetype)
        return not self.usagetype or bool(re.fullmatch(usage, attributes.get("usagetype", "")))


class Jump(Entry):
    """How far a price may move before somebody has to look."""

    factor: Annotated[float, Field(gt=1)]
    source: str


class BlockProbe(Entry):
    """The Capacity Block that is asked for to learn the hourly price."""

    instances: Annotated[int, Field(gt=0)]
    hours: Annotated[int, Field(gt=0)]
    source: str


class PriceQueries(Entry):
    """All of prices_queries.yaml."""

    endpoint_region: str
    """Where the Price List API answers, whatever region is asked about."""
    instance: Query
    items: Mapping[Item, Query]
    jump: Jump
    block: BlockProbe

    def cited(self) -> Iterator[tuple[str, str]]:
        """Yield every source with its place."""
        yield self.instance.source, "instance"
        yield from ((query.source, name) for name, query in self.items.items())
        yield from ((self.jump.source, "jump"), (self.block.source, "block"))


@cache
def load_price_queries(directory: Path = _HERE) -> PriceQueries:
    """Read and check what is asked.

    Raises:
        CatalogError: a query of no listed source, or a wrong type.

    """
    return load_cited(PriceQueries, directory / _FILE, PriceQueries.cited)
