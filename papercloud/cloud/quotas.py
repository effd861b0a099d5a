"""Service quotas for EC2, FSx and VPC: what the scenario grants."""

from __future__ import annotations

from typing import Any

from muster.catalog.quotas import load_quotas
from papercloud.cloud.calls import Call, handles
from papercloud.cloud.world import World

_SERVICES = {
    "ec2": "Amazon Elastic Compute Cloud (Amazon EC2)",
    "fsx": "Amazon FSx",
    "vpc": "Amazon Virtual Private Cloud",
}


@handles("service-quotas", "GetServiceQuota")
def _get(call: Call) -> dict[str, Any]:
    for row in _rows(call):
        if row["QuotaCode"] == call.get("QuotaCode"):
            return {"Quota": row}
    what = "The request failed because the specified service quota does not exist."
    raise call.refuse("NoSuchResourceException", what)


@handles("service-quotas", "ListServiceQuotas")
def _list(call: Call) -> dict[str, Any]:
    return {"Quotas": _rows(call)}


def _rows(call: Call) -> list[dict[str, Any]]:
    service = call.get("ServiceCode")
    if service not in _SERVICES:
        raise call.refuse("NoSuchResourceException", f"There are no quotas of {service!r} here")
    listed = (*load_quotas().vcpus, *load_quotas().regional)
    known = {quota.code: quota.name for quota in listed if quota.service == service}
    interfaces = load_quotas().network_interfaces
    values = {code: _value(call.world, code) for code in known}
    if interfaces.service == service:
        known[interfaces.code] = interfaces.name
        values[interfaces.code] = call.world.scenario.quotas.get(
            interfaces.code, float(interfaces.default)
        )
    return [
        {
            "ServiceCode": service,
            "ServiceName": _SERVICES[service],
            "QuotaArn": call.world.arn("servicequotas", f"{service}/{code}", call.region),
            "QuotaCode": code,
            "QuotaName": name,
            "Value": values[code],
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
        for code, name in known.items()
    ]


def _value(world: World, code: str) -> float:
    return world.scenario.quotas.get(code, world.scenario.quota_otherwise)
