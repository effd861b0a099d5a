"""Catalog: dated facts about hardware, prices and limits, each with its source."""

from muster.catalog.limits import Limit, Quantity
from muster.catalog.load import load_catalog
from muster.catalog.model import (
    Catalog,
    CatalogError,
    Fact,
    Gpu,
    InstanceType,
    RailFact,
    Source,
)

__all__ = [
    "Catalog",
    "CatalogError",
    "Fact",
    "Gpu",
    "InstanceType",
    "Limit",
    "Quantity",
    "RailFact",
    "Source",
    "load_catalog",
]
