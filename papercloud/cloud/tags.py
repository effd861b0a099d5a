"""EC2 tags of what moto does not model; they stand in moto's store, so DescribeTags has them."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.world import World

_OURS = {"pg-": "placement-group", "cr-": "capacity-reservation"}


def tag_resource(world: World, resource: str, tags: Mapping[str, str]) -> None:
    """Give tags to an EC2 resource."""
    world.backend("ec2").tags[resource].update(tags)


def tag_map(world: World, resource: str) -> dict[str, str]:
    """Return the tags of an EC2 resource."""
    return dict(world.backend("ec2").tags.get(resource, {}))


def of_resource(world: World, resource: str) -> list[dict[str, str]]:
    """Return the tags of an EC2 resource as AWS lists them."""
    return [{"Key": key, "Value": value} for key, value in tag_map(world, resource).items()]


def tags_match(world: World, resource: str, filters: Mapping[str, list[str]]) -> bool:
    """Do the tags pass the filters `tag:NAME` and `tag-key`?"""
    tags = tag_map(world, resource)
    for name, patterns in filters.items():
        if name.startswith("tag:"):
            value = tags.get(name.removeprefix("tag:"))
            if value is None or not any(fnmatchcase(value, pattern) for pattern in patterns):
                return False
        if name == "tag-key" and not set(patterns) & set(tags):
            return False
    return True


@handles("ec2", "DescribeTags")
def _list_tags(call: Call) -> dict[str, Any]:
    """List tags with the kinds of resources that moto does not know."""
    filters = call.filters()
    kinds = filters.pop("resource-type", None)
    rows = [
        {
            "ResourceId": row["resource_id"],
            "ResourceType": _OURS.get(row["resource_id"][:3]) or row["resource_type"],
            "Key": row["key"],
            "Value": row["value"],
        }
        for row in call.backend.describe_tags(filters)
    ]
    return {"Tags": [row for row in rows if kinds is None or row["ResourceType"] in kinds]}


@handles("ec2", "CreateTags")
def _create_tags(call: Call) -> dict[str, Any] | None:
    resources = call.get("Resources") or ()
    if not any(resource.startswith(tuple(_OURS)) for resource in resources):
        return None
    tags = {tag["Key"]: tag.get("Value", "") for tag in call.get("Tags") or ()}
    for resource in resources:
        tag_resource(call.world, resource, tags)
    return {}


@handles("ec2", "DeleteTags")
def _delete_tags(call: Call) -> dict[str, Any] | None:
    resources = call.get("Resources") or ()
    if not any(resource.startswith(tuple(_OURS)) for resource in resources):
        return None
    for resource in resources:
        kept = call.backend.tags[resource]
        for tag in call.get("Tags") or ():
            if tag.get("Value") in (None, kept.get(tag["Key"])):
                kept.pop(tag["Key"], None)
    return {}
