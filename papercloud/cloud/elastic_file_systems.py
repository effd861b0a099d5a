"""Changing an EFS file system's throughput; moto keeps the file systems."""

from __future__ import annotations

from typing import Any

from papercloud.cloud.calls import Call, handles

# moto's own, unknown to AWS' model.
_NOT_SHOWN = {"LifecyclePolicies", "FileSystemPolicy"}


@handles("efs", "UpdateFileSystem")
def _update(call: Call) -> dict[str, Any]:
    file_system_id = call.get("FileSystemId")
    found = call.backend.file_systems_by_id.get(file_system_id)
    if found is None:
        raise call.refuse("FileSystemNotFound", f"File system '{file_system_id}' does not exist.")
    found.throughput_mode = call.get("ThroughputMode", found.throughput_mode)
    rate = call.get("ProvisionedThroughputInMibps", found.provisioned_throughput_in_mibps)
    found.provisioned_throughput_in_mibps = rate if found.throughput_mode == "provisioned" else None
    shown: dict[str, Any] = found.info_json()
    return {key: value for key, value in shown.items() if key not in _NOT_SHOWN}
