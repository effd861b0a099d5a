"""Looking at what exists: images, subnets, zones. A wrong id stops the program with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pulumi
import pulumi_aws as aws

from muster.errors import UsageError


def look(
    ask: Callable[..., Any], what: str, where: str, opts: pulumi.InvokeOptions, **query: Any
) -> Any:
    """Ask AWS, and wait for the answer.

    Raises:
        UsageError: there is no such thing, or AWS could not be asked.

    """
    try:
        return ask(**query, opts=opts)
    except Exception as error:  # noqa: BLE001 - the SDK raises nothing narrower
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "Check the id, the region (aws:region) and your credentials."
        raise UsageError(f"{what} could not be looked up: {said}", where=where, hint=hint) from None


def root_devices(images: Iterable[str], provider: aws.Provider) -> dict[str, str]:
    """Return the name that each image gives its root disk.

    Under another name a launch template would add a second disk, and leave the root as it was.
    """
    opts, where = pulumi.InvokeOptions(provider=provider), "muster:cluster.image"
    found = {}
    for image in sorted(images):
        by_id = [{"name": "image-id", "values": [image]}]
        seen = look(aws.ec2.get_ami, f"image {image}", where, opts, filters=by_id)
        found[image] = str(seen.root_device_name)
    return found
