"""What is known about every node after some round: who is settled, who is good. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muster.acceptance.corruption import Corruption, find_corruption
from muster.acceptance.locate_model import Policy
from muster.acceptance.medians import Index, Mask
from muster.acceptance.pair_table import PairTable
from muster.acceptance.rail_study import RailStudy
from muster.acceptance.sequential import ACCEPTED, UNTESTED, Judgements
from muster.acceptance.validity import lacking


@dataclass(frozen=True)
class Evidence:
    """Studies and judgements of every rail."""

    table: PairTable
    policy: Policy
    studies: Mapping[int | None, RailStudy]
    judgements: Mapping[int | None, Judgements]

    @cached_property
    def corruption(self) -> Corruption:
        """Who delivered wrong results, on any rail."""
        return find_corruption(study.tests for study in self.studies.values())

    @cached_property
    def lacking(self) -> Mapping[int | None, Mapping[int, str]]:
        """Nodes without enough valid tests by rail, and why."""
        share = self.policy.valid_share_min
        return {rail: lacking(study.tests, share) for rail, study in self.studies.items()}

    @cached_property
    def verdicts(self) -> Index:
        """Places in `GRAVITY` by rail and node, before the floor speaks."""
        found = np.stack([judged.verdict for judged in self.judgements.values()])
        for place, rail in enumerate(self.judgements):
            found[place, list(self.lacking[rail])] = UNTESTED
        return found

    def _settled(self) -> Mask:
        found = np.stack([judged.settled for judged in self.judgements.values()])
        for place, rail in enumerate(self.judgements):
            found[place, list(self.lacking[rail])] = True
        settled: Mask = np.logical_and.reduce(found, axis=0)
        return settled

    def unsettled(self) -> list[str]:
        """Return nodes that another test may settle, the most suspect first."""
        wanted = ~self._settled()
        wanted[list(self.corruption.suspects)] = True
        weight = np.stack([judged.events.llr for judged in self.judgements.values()]).max(axis=0)
        nodes = np.flatnonzero(wanted)
        ordered = nodes[np.argsort(-weight[nodes], kind="stable")]
        return [self.table.names[node] for node in ordered.tolist()]

    def good(self) -> list[str]:
        """Return nodes against which others can be measured."""
        fine = (self.verdicts == ACCEPTED).all(axis=0)
        fine[list(self.corruption.guilty | self.corruption.suspects)] = False
        return [self.table.names[node] for node in np.flatnonzero(fine).tolist()]

    def low_leaves(self) -> set[str]:
        """Return leaves with a low uplink on any rail."""
        return {
            self.table.leaf_names[leaf]
            for study in self.studies.values()
            for leaf in uplinks(study)
        }

    def disturbed(self) -> Mask:
        """Return the rounds that were slow for most, on any rail."""
        found = [study.disturbed.any(axis=0) for study in self.studies.values()]
        disturbed: Mask = np.logical_or.reduce(np.stack(found), axis=0)
        return disturbed


def uplinks(study: RailStudy) -> dict[int, str]:
    """Return the low uplinks of a rail, each with the reason."""
    found = {}
    for name, counted in study.counters.items():
        usual = study.counter_usual[name]
        for leaf, effect in counted.effects.low_leaves.items():
            found[leaf] = f"{name} across leaves: {usual - effect:.0f} per test, usual {usual:.0f}"
    if study.throughput:
        for leaf, effect in study.throughput.effects.low_leaves.items():
            found[leaf] = f"{effect:+.1%} across leaves, while its nodes are fast inside the leaf"
    return found
