"""Prices: the Price List's products and the history of spot prices."""

from __future__ import annotations

import json
from typing import Any

from muster.catalog import load_catalog
from papercloud.cloud.calls import Call, handles
from papercloud.cloud.types import facts, row_for, zone_ids
from papercloud.cloud.world import REGION, World

_SHOWN = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
          "capacitystatus": "Used", "regionCode": REGION, "marketoption": "OnDemand",
          "licenseModel": "No License required"}  # fmt: skip
_PAGE = 100


@handles("pricing", "GetProducts")
def _products(call: Call) -> dict[str, Any]:
    """Answer for on-demand Linux instances; no other product is modelled."""
    if call.get("ServiceCode") != "AmazonEC2":
        return {"PriceList": [], "FormatVersion": "aws_v1"}
    wanted = {row["Field"]: row["Value"] for row in call.get("Filters") or ()}
    rows = [
        json.dumps(_product(call.world, name, usd))
        for name, usd in _on_demand(call.world).items()
        if all(_attributes(name).get(key, value) == value for key, value in wanted.items())
    ]
    start, size = int(call.get("NextToken") or 0), int(call.get("MaxResults") or _PAGE)
    more = {"NextToken": str(start + size)} if len(rows) > start + size else {}
    return {"PriceList": rows[start : start + size], "FormatVersion": "aws_v1", **more}


@handles("ec2", "DescribeSpotPriceHistory")
def _spot(call: Call) -> dict[str, Any]:
    kinds = call.get("InstanceTypes") or list(load_catalog().types_of("aws"))
    zones = [call.get("AvailabilityZone")] if call.get("AvailabilityZone") else list(zone_ids())
    product = (call.get("ProductDescriptions") or ["Linux/UNIX"])[0]
    prices = {(kind, zone): _spot_price(call.world, kind, zone) for kind in kinds for zone in zones}
    return {
        "SpotPriceHistory": [
            {
                "InstanceType": kind,
                "AvailabilityZone": zone,
                "ProductDescription": product,
                "SpotPrice": f"{usd:.6f}",
                "Timestamp": call.world.now(),
            }
            for (kind, zone), usd in prices.items()
            if usd is not None
        ]
    }


def _on_demand(world: World) -> dict[str, float]:
    """Return USD per hour by type: the catalog's, and the scenario's in its place."""
    catalog = load_catalog()
    known = {name: catalog.types[name].on_demand_usd_per_hour for name in catalog.types_of("aws")}
    merged = {**known, **world.scenario.prices}
    return {name: usd for name, usd in merged.items() if usd is not None}


def _spot_price(world: World, kind: str, zone: str) -> float | None:
    given = row_for(world.scenario.spot_prices, kind, zone)
    if given is not None:
        return float(given)
    found = load_catalog().types.get(kind)
    return None if found is None else found.spot_usd_per_hour


def _attributes(name: str) -> dict[str, str]:
    vcpu = (facts(name) or {}).get("VCpuInfo", {}).get("DefaultVCpus", "")
    return {**_SHOWN, "instanceType": name, "vcpu": str(vcpu),
            "usagetype": f"USE2-BoxUsage:{name}"}  # fmt: skip


def _product(world: World, name: str, usd: float) -> dict[str, Any]:
    sku = f"PAPER{name.replace('.', '').upper()}"
    rate = {
        "unit": "Hrs",
        "pricePerUnit": {"USD": f"{usd:.10f}"},
        "description": f"paper cloud: ${usd} per On Demand Linux {name} Instance Hour",
    }
    day = f"{world.now():%Y-%m-01T00:00:00Z}"
    term = {"sku": sku, "effectiveDate": day, "priceDimensions": {f"{sku}.RATE": rate}}
    return {
        "product": {
            "productFamily": "Compute Instance",
            "sku": sku,
            "attributes": _attributes(name),
        },
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {f"{sku}.TERM": term}},
        "publicationDate": day,
    }
