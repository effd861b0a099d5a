"""How the file systems of a stack are mounted: what mount(8) is told for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.catalog.nodes import MountOptions
from muster.cloud.calls import CloudError, call
from muster.cloud.gateway import Gateway
from muster.fleet import Mount
from muster.plan.aws.fleet import FleetWish, StorageWish


def read_mounts(gateway: Gateway, wish: FleetWish, options: MountOptions) -> tuple[Mount, ...]:
    """Return a mount for each file system, in the order of the spec.

    Raises:
        CloudError: FSx does not know a file system, or refused the question.

    """
    return tuple(_mount(gateway, one, options) for one in wish.storage)


def _mount(gateway: Gateway, wish: StorageWish, options: MountOptions) -> Mount:
    if wish.kind == "efs":
        source = f"{wish.id}.efs.{gateway.region}.amazonaws.com:/"
        return Mount(path=wish.mount, source=source, kind="nfs4", options=options.nfs.options)
    found = _file_system(gateway, wish)
    if wish.kind == "fsxOpenZfs":
        # The root volume of every such file system is /fsx.
        source = f"{found['DNSName']}:/fsx"
        return Mount(path=wish.mount, source=source, kind="nfs4", options=options.nfs.options)
    source = f"{found['DNSName']}@tcp:/{found['LustreConfiguration']['MountName']}"
    return Mount(path=wish.mount, source=source, kind="lustre", options=options.lustre.options)


def _file_system(gateway: Gateway, wish: StorageWish) -> Mapping[str, Any]:
    pages = call(gateway, "fsx", "describe_file_systems", FileSystemIds=[wish.id])
    found: list[Mapping[str, Any]] = [fs for page in pages for fs in page.get("FileSystems", ())]
    if not found:
        what = f"FSx has no file system {wish.id}"
        raise CloudError(what, where=wish.mount, hint="Run `pulumi refresh`.")
    return found[0]
