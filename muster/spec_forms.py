"""The written forms of names and ids in a spec: each pattern, and the words for it."""

from __future__ import annotations

import re

ZONE_ID = r"^[a-z]{3,5}\d(-[a-z]+\d+){1,2}$"
CAPACITY_ID = r"^cr-[0-9a-f]{8,17}$"
POOL_NAME = r"^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$"
LAB_NAME = r"^[a-z][a-z0-9]{0,7}$"
RESOURCE_GROUP = r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/.+$"
VPC_ID = r"^vpc-[0-9a-f]{8,17}$"
SUBNET_ID = r"^subnet-[0-9a-f]{8,17}$"
IMAGE_ID = r"^ami-[0-9a-f]{8,17}$"
FILE_SYSTEM_ID = r"^fs-[0-9a-f]{8,17}$"
BUCKET_NAME = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"
TYPE_NAME = r"^[a-z0-9][a-z0-9.-]*$"
USER = r"^[a-z_][a-z0-9_-]{0,31}$"
PUBLIC_KEY = r"^(ssh-ed25519|ecdsa-sha2-nistp256|ssh-rsa) [A-Za-z0-9+/]+={0,3}( .*)?$"
KUBERNETES = r"^1\.\d{2}$"
RULE = r"^[a-z][a-z0-9-]*$"
URN = r"^urn:pulumi:.+$"
TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?Z$"
MOUNT = r"^/[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$"
BUCKET = r"^s3://[a-z0-9][a-z0-9.-]+(/.*)?$"
SOFTWARE = r"^\d{4}\.\d{2}$"
CHECK = r"^[a-z0-9][a-z0-9-]*$"

WORDS = {
    ZONE_ID: "the id of an availability zone, as use2-az1",
    CAPACITY_ID: "the id of a reservation, as cr-0123456789abcdef0",
    POOL_NAME: "1 to 15 small letters, digits and dashes, beginning with a letter",
    LAB_NAME: "1 to 8 small letters and digits, beginning with a letter",
    RESOURCE_GROUP: "the ARN of a resource group of reservations",
    VPC_ID: "the id of a VPC, as vpc-0123456789abcdef0",
    SUBNET_ID: "the id of a subnet, as subnet-0123456789abcdef0",
    IMAGE_ID: "the id of an image, as ami-0123456789abcdef0",
    FILE_SYSTEM_ID: "the id of a file system, as fs-0123456789abcdef0",
    BUCKET_NAME: "a bucket's name: 3 to 63 small letters, digits, dots and dashes",
    TYPE_NAME: "an instance type, as m7i.4xlarge",
    USER: "a user's name, as ubuntu",
    PUBLIC_KEY: "one line of an OpenSSH public key, as ssh-ed25519 AAAA… name",
    KUBERNETES: "a minor version of Kubernetes in quotes, as '1.34'",
    RULE: "the id of a preflight rule, as free-addresses",
    URN: "the URN of a resource, as urn:pulumi:prod::muster::…",
    TIME: "a time in UTC, as 2026-12-01T11:30Z",
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
