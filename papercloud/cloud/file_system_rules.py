"""What FSx refuses to make; the figures are those of muster's catalog, with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from muster.catalog.storage import LustreClass, load_storage

Kind = Literal["scratch2", "persistent2", "intelligentTiering"]

_DEPLOYMENTS: dict[str, Kind] = {"SCRATCH_2": "scratch2", "PERSISTENT_2": "persistent2"}


def mistake_in(params: Mapping[str, Any]) -> str:
    """Say what is wrong with a CreateFileSystem; an empty text if nothing is found."""
    if not params.get("SubnetIds"):
        return "SubnetIds must be given."
    if params["FileSystemType"] == "OPENZFS":
        return _openzfs(params)
    asked = params.get("LustreConfiguration") or {}
    if params.get("StorageType") == "INTELLIGENT_TIERING":
        return _tiering(params, asked)
    kind = _DEPLOYMENTS.get(asked.get("DeploymentType", ""))
    if kind is None:
        return ""  # the older kinds are not checked
    return _lustre(kind, int(params.get("StorageCapacity") or 0), asked)


def _lustre(kind: Kind, capacity: int, asked: Mapping[str, Any]) -> str:
    rules = load_storage().fsx_lustre[kind]
    throughput = asked.get("PerUnitStorageThroughput")
    if rules.capacity and not rules.capacity.holds(capacity):
        return f"Invalid storage capacity {capacity} GiB: {rules.capacity}."
    if (rules.throughput is None) != (throughput is None):
        return f"Invalid per unit storage throughput {throughput} for this deployment type."
    if rules.throughput and not rules.throughput.holds(int(throughput or 0)):
        return f"Invalid per unit storage throughput {throughput}: {rules.throughput}."
    return _efa(rules, capacity, asked) if asked.get("EfaEnabled") else ""


def _efa(rules: LustreClass, capacity: int, asked: Mapping[str, Any]) -> str:
    throughput = asked.get("PerUnitStorageThroughput")
    step = rules.efa_step_gib.get(int(throughput or 0))
    if not rules.efa or step is None:
        return "This deployment type cannot be EFA-enabled."
    if capacity % step:
        return f"An EFA-enabled file system of {throughput} MB/s/TiB comes in steps of {step} GiB."
    if not asked.get("MetadataConfiguration"):
        return "An EFA-enabled file system needs a metadata configuration."
    return ""


def _tiering(params: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    rules = load_storage().fsx_lustre["intelligentTiering"]
    throughput = int(asked.get("ThroughputCapacity") or 0)
    if params.get("StorageCapacity") is not None:
        return "INTELLIGENT_TIERING takes no storage capacity."
    if rules.throughput and not rules.throughput.holds(throughput):
        return f"Invalid throughput capacity {throughput}: {rules.throughput}."
    if not asked.get("MetadataConfiguration") or not asked.get("DataReadCacheConfiguration"):
        return "INTELLIGENT_TIERING needs a metadata and a data read cache configuration."
    return ""


def _openzfs(params: Mapping[str, Any]) -> str:
    asked, rules = params.get("OpenZFSConfiguration") or {}, load_storage().fsx_openzfs
    capacity = int(params.get("StorageCapacity") or 0)
    if not rules.least_gib <= capacity <= rules.most_gib:
        return f"Invalid storage capacity {capacity} GiB."
    allowed = rules.throughput.get(asked.get("DeploymentType", ""))
    if allowed is not None and asked.get("ThroughputCapacity") not in allowed:
        return f"Invalid throughput capacity {asked.get('ThroughputCapacity')}."
    return ""
