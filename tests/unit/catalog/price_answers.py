"""Answers of AWS about prices, of the documented shape, for tests."""

from __future__ import annotations

import json
from typing import Any

LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "licenseModel": "No License required",
    "marketoption": "OnDemand",
    "regionCode": "us-east-2",
}


def product(
    usd: str = "55.04",
    *,
    sku: str = "SKU1",
    unit: str = "Hrs",
    usagetype: str = "USE2-BoxUsage:p5.48xlarge",
    rates: dict[str, Any] | None = None,
    terms: int = 1,
    family: str = "Compute Instance",
    **attributes: str,
) -> str:
    """Return one entry of GetProducts' PriceList: on demand, with one rate by default."""
    rate = {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": usd}}
    term = {
        "sku": sku,
        "effectiveDate": "2026-11-01T00:00:00Z",
        "priceDimensions": rates or {f"{sku}.JRTCKXETXF.6YS6EN2CT7": rate},
        "termAttributes": {},
    }
    return json.dumps(
        {
            "product": {
                "productFamily": family,
                "sku": sku,
                "attributes": {"usagetype": usagetype, **attributes},
            },
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {f"{sku}.{n}": term for n in range(terms)}},
            "version": "20261118201538",
            "publicationDate": "2026-11-18T20:15:38Z",
        }
    )


def instance(usd: str = "55.04", name: str = "p5.48xlarge", **changes: Any) -> str:
    """Return the product of one instance type in us-east-2."""
    usagetype = f"USE2-BoxUsage:{name}"
    return product(usd, **{"usagetype": usagetype, **LINUX, "instanceType": name, **changes})
