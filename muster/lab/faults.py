"""Breaking a lab for real, and mending it: what is broken is on record until it is mended."""

from __future__ import annotations

import contextlib
import json

from muster.errors import MusterError, UsageError
from muster.lab import fault_effects, fault_model, network
from muster.lab.fault_model import Fault, Kind
from muster.lab.locks import locked
from muster.lab.paths import LabPaths, lab_paths

__all__ = ["Fault", "Kind", "active_faults", "break_fault", "mend"]


def active_faults(lab: str) -> tuple[Fault, ...]:
    """Return the faults that are active."""
    return fault_model.load(lab_paths(lab).faults_file)


def _gpu_count(paths: LabPaths, fault: Fault) -> int:
    record = paths.node(fault.node).record
    if not fault.node or not record.is_file():
        return 0
    return int(json.loads(record.read_text(encoding="utf-8"))["wish"]["gpu_count"])


def break_fault(lab: str, fault: Fault) -> str:
    """Break one thing; returns what was done. Asked twice, the later numbers count.

    Raises:
        UsageError: the lab has no such node, leaf, rail or GPU, or a field is missing.
        MusterError: this machine cannot make the fault; nothing is changed then.

    """
    paths = lab_paths(lab)
    wish, _ = network.require_network(paths)
    fault_model.check(fault, wish, _gpu_count(paths, fault))
    with locked(paths.lock("faults")):
        before = fault_model.load(paths.faults_file)
        known = any(f.place == fault.place for f in before)
        if fault.kind is Kind.DAEMON_DEAD and not known:
            _refuse_dead(paths, fault)
        # First the record, then the deed: what a kill leaves half done can be mended.
        fault_model.save(paths.faults_file, fault_model.with_fault(before, fault))
        try:
            return fault_effects.apply(paths, fault, broken=True)
        except MusterError:
            fault_model.save(paths.faults_file, before)
            if not known:
                _undo(paths, fault)
            raise


def _undo(paths: LabPaths, fault: Fault) -> None:
    """Take back what a fault that could not be made whole has changed."""
    with contextlib.suppress(MusterError):
        fault_effects.apply(paths, fault, broken=False)


def _refuse_dead(paths: LabPaths, fault: Fault) -> None:
    if not fault_effects.unit_active(paths, fault.node, fault.unit):
        raise UsageError(f"{fault.unit} does not run, so it cannot die", where=fault.node)


def mend(lab: str) -> list[str]:
    """Mend all active faults; returns what was mended.

    Raises:
        MusterError: one could not be mended; it stays on record, the others are mended.

    """
    paths = lab_paths(lab)
    mended: list[str] = []
    failed: list[str] = []
    with locked(paths.lock("faults")):
        # Frozen processes first: nothing else of the node can be mended before.
        todo = sorted(fault_model.load(paths.faults_file), key=lambda f: f.kind != Kind.HUNG_NODE)
        for fault in todo:
            active = fault_model.load(paths.faults_file)
            fault_model.save(paths.faults_file, [f for f in active if f.place != fault.place])
            try:
                fault_effects.apply(paths, fault, broken=False)
                mended.append(fault.describe())
            except MusterError as error:
                failed.append(f"{fault.describe()}: {error}")
                rest = fault_model.load(paths.faults_file)
                fault_model.save(paths.faults_file, fault_model.with_fault(rest, fault))
    if failed:
        raise MusterError(f"not mended: {'; '.join(failed)}", where=f"lab {lab}")
    return mended
