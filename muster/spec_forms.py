"""The written forms of names and ids in a spec: each pattern, and the words for it."""

from __future__ import annotations

import re

ZONE_ID = r"^[a-z]{3,5}\d(-[a-z]+\d+){1,2}$"
CAPACITY_ID = r"^cr-[0-9a-f]{8,17}$"
POOL_NAME = r"^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$"
LAB_NAME = r"^[a-z][a-z0-9]{0,7}$"
MOUNT = r"^/[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$"
BUCKET = r"^s3://[a-z0-9][a-z0-9.-]+(/.*)?$"
SOFTWARE = r"^\d{4}\.\d{2}$"
CHECK = r"^[a-z0-9][a-z0-9-]*$"

WORDS = {
    ZONE_ID: "the id of an availability zone, as use2-az1",
    CAPACITY_ID: "the id of a reservation, as cr-0123456789abcdef0",
    POOL_NAME: "1 to 15 small letters, digits and dashes, beginning with a letter",
    LAB_NAME: "1 to 8 small letters and digits, beginning with a letter",
    MOUNT: "a path of small letters, digits, - and _, as /shared",
    BUCKET: "a bucket and prefix, as s3://bucket/prefix",
    SOFTWARE: "a row of the version matrix, as 2026.11",
    CHECK: "the id of a check, as gpu-count",
}

_REWRITTEN_DAY = re.compile(r"(\d{4}-\d{2}-\d{2}) 00:00:00 \+0000 UTC")


def written_day(text: str) -> str:
    """Undo what Pulumi makes of a day without quotes when it rewrites a stack file."""
    found = _REWRITTEN_DAY.fullmatch(text)
    return found[1] if found else text
