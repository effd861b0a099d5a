"""IAM's own policies, each made when a call first names it: making all of them takes seconds."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import AWSManagedPolicy

from papercloud.cloud.calls import Call, handles

_PREFIX = "arn:aws:iam::aws:policy"


@cache
def _known() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return name and content of each policy by its ARN."""
    content: dict[str, dict[str, Any]] = json.loads(aws_managed_policies_data)
    return {f"{_PREFIX}{row['Path']}{name}": (name, row) for name, row in content.items()}


@handles("iam", "AttachRolePolicy", "GetPolicy", "GetPolicyVersion", "ListPolicyVersions")
def _make(call: Call) -> None:
    arn = call.get("PolicyArn") or ""
    backend = call.world.backend("iam", "aws")
    if arn in _known() and arn not in backend.managed_policies:
        name, row = _known()[arn]
        made = AWSManagedPolicy.from_data(name, call.world.account, "aws", row)
        backend.managed_policies[arn] = made
        backend.aws_managed_policies.append(made)
