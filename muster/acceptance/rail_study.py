"""What is normal on one rail, and which nodes and uplinks deviate from it? Pure.

The reference of a class of pairs is first taken so that slow nodes cannot move it, then learned
again without the tests of what was found to be low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from muster.acceptance.disturbance import disturbed_rounds
from muster.acceptance.effects import MAD_TO_SIGMA, Effects, Explainer, Limit
from muster.acceptance.locate_model import Kind, PairClass, Policy
from muster.acceptance.medians import Mask, Values
from muster.acceptance.pair_table import RailTests

PEERS_MIN = 4
"""With fewer nodes a median says nothing about who of them is slow."""

PASSES = 4
"""Reference, noise and disturbed rounds settle in two or three passes."""

SETTLED = 5e-4
"""A reference that moves by less is settled."""

ABOVE_TO_SIGMA = 2.1
"""Scales the median height above a first reference, which is the upper quartile, to sigma."""

HALF_WIDTH_SIGMAS = 1.349
"""Width of the middle half of normal noise."""

FAST_GROUP = 3.0
"""Noise above the reference that is so many times the usual one is a group of faster nodes."""

FAST_SHARE = 0.05
FAST_NODES_MIN = 3
"""So many tests and nodes far above the median mean that the median is that of slow nodes."""

FAST_SIGMAS = 6.0
FAST_FRACTION = 0.10

KINDS: tuple[Kind, ...] = ("intra", "cross")
References = Mapping[Kind, float]


@dataclass(frozen=True, slots=True)
class Study:
    """One quantity of one rail: an explanation, and what it was explained with."""

    explainer: Explainer
    effects: Effects


@dataclass(frozen=True, slots=True)
class RailStudy:
    """All that one rail's tests say; `throughput` is None where no class has enough peers."""

    tests: RailTests
    classes: Mapping[Kind, PairClass]
    throughput: Study | None
    counters: Mapping[str, Study]
    counter_usual: Mapping[str, float]
    unsteady: str
    """Why the median is no measure of what is normal; empty if it is."""
    references: References
    disturbed: Mask
    """Tests of rounds that were slow for most: they count neither for nor against anyone."""


def of_kind(tests: RailTests, kind: Kind) -> Mask:
    """Return where tests of pairs of one kind would stand, valid or not."""
    return tests.seats.cross if kind == "cross" else ~tests.seats.cross


def first_noise(rails: Iterable[RailTests]) -> float:
    """Estimate the noise of all rails from the tests above a first reference.

    Faults only make tests slower, so what is faster than good nodes usually are is noise alone;
    unless most nodes are slow and the good ones stand out, which the closest half of all shows.
    """
    found = []
    for tests in rails:
        deviation = _deviations(tests, _first_references(tests))
        found.append(deviation[tests.once() & ~np.isnan(deviation)])
    deviations = np.sort(np.concatenate(found)) if found else np.zeros(0)
    above = deviations[deviations > 0]
    if not len(above):
        return 0.0
    sigma, closest = ABOVE_TO_SIGMA * float(np.median(above)), _closest_half(deviations)
    return closest if sigma > FAST_GROUP * closest else sigma


def _closest_half(ordered: Values) -> float:
    """Estimate noise from the narrowest range that holds half of the values."""
    half = len(ordered) // 2
    return float((ordered[half:] - ordered[: len(ordered) - half]).min()) / HALF_WIDTH_SIGMAS


def study_rail(
    tests: RailTests,
    *,
    rail: int | None,
    policy: Policy,
    noise: float,
    before: RailStudy | None = None,
) -> RailStudy:
    """Learn what is normal on this rail, and explain what deviates by more than `noise`.

    `before` is what was known a round ago, to begin with.
    """
    references = before.references if before else _first_references(tests)
    throughput, sigma = None, noise
    disturbed = np.zeros_like(tests.seats.asked)
    if before:
        disturbed[:, : before.disturbed.shape[1]] = before.disturbed
        sigma = max((c.noise for c in before.classes.values()), default=noise)
    for _ in range(PASSES if references else 0):
        throughput = _explain_throughput(
            tests, np.where(disturbed, np.nan, _deviations(tests, references)), sigma, policy
        )
        learned = _learn_references(tests, references, throughput)
        settled = all(abs(learned[k] / references[k] - 1) < SETTLED for k in references)
        deviation = _deviations(tests, learned)
        now = _disturbed(tests, deviation, throughput, sigma)
        settled &= bool(np.array_equal(now, disturbed))
        references, disturbed, before_sigma = learned, now, sigma
        sigma = max(noise, _sigma(deviation, _kept(throughput) & ~disturbed))
        if settled and abs(sigma - before_sigma) < SETTLED:
            break
    counters, usual = _study_counters(tests, throughput, policy)
    return RailStudy(
        tests=tests,
        classes=_classes(tests, rail, references, sigma),
        throughput=throughput,
        counters=counters,
        counter_usual=usual,
        unsteady=_unsteady(tests, _deviations(tests, references), sigma, policy),
        references=references,
        disturbed=disturbed,
    )


def _classes(
    tests: RailTests, rail: int | None, references: References, sigma: float
) -> dict[Kind, PairClass]:
    found = {}
    once = tests.once()
    for kind in KINDS:
        speeds = tests.speed[once & of_kind(tests, kind)]
        if len(speeds):
            known = references.get(kind)
            middle = float(np.median(speeds)) if known is None else known
            found[kind] = PairClass(
                rail=rail, kind=kind, median_bps=middle, noise=sigma, n=len(speeds)
            )
    return found


def _first_references(tests: RailTests) -> dict[Kind, float]:
    """Take by kind of pair the median over nodes of their better tests.

    One slow uplink of four slows half of all pairs across leaves, but only a quarter of the nodes,
    and it leaves the others some fast partners. A kind that cannot be compared has no reference.
    """
    found: dict[Kind, float] = {}
    for kind in KINDS:
        mask = tests.valid & of_kind(tests, kind)
        count = mask.sum(axis=1)
        nodes = np.flatnonzero(count)
        if len(nodes) < PEERS_MIN or 2 * count.max() == count.sum():
            continue  # too few, or a star: one node is in all tests
        ordered = np.sort(np.where(mask, tests.speed, np.inf)[nodes], axis=1)
        better = np.sort(ordered[np.arange(len(nodes)), 3 * count[nodes] // 4])
        found[kind] = float(better[len(better) // 2])
    return {kind: reference for kind, reference in found.items() if reference > 0}


def _deviations(tests: RailTests, references: References) -> Values:
    intra, cross = (references.get(kind, np.nan) for kind in KINDS)
    return tests.speed / np.where(tests.seats.cross, cross, intra) - 1


def _sigma(deviation: Values, kept: Mask) -> float:
    values = np.abs(deviation[kept & ~np.isnan(deviation)])
    return MAD_TO_SIGMA * float(np.median(values)) if len(values) else 0.0


def _explain_throughput(tests: RailTests, deviation: Values, sigma: float, policy: Policy) -> Study:
    explainer = Explainer(
        seats=tests.seats,
        deviation=deviation,
        sigma=sigma,
        node_limit=Limit(sigmas=policy.node_sigmas, least=policy.node_fraction),
        leaf_limit=Limit(sigmas=policy.leaf_sigmas, least=policy.leaf_fraction),
    )
    return Study(explainer, explainer.explain())


def _kept(study: Study) -> Mask:
    """Leave out the tests of low nodes and, across leaves, of low uplinks."""
    low = study.effects.low_nodes
    either = low[:, np.newaxis] | low[study.explainer.seats.partner]
    return ~either & ~study.explainer.over_low_uplink(study.effects.low_leaves)


def _learn_references(tests: RailTests, references: References, study: Study) -> dict[Kind, float]:
    """Take the median of the tests that nothing explains; keep the old one if there are none."""
    learned = dict(references)
    kept = _kept(study) & ~np.isnan(study.explainer.deviation)
    for kind in references:
        speeds = tests.speed[kept & of_kind(tests, kind)]
        if len(speeds) and (middle := float(np.median(speeds))) > 0:
            learned[kind] = middle
    return learned


def _disturbed(tests: RailTests, deviation: Values, study: Study, sigma: float) -> Mask:
    clean = _kept(study) & ~np.isnan(deviation)
    rounds = disturbed_rounds(deviation, clean, tests.seats.cross, sigma)
    return tests.seats.asked & rounds


def _study_counters(
    tests: RailTests, throughput: Study | None, policy: Policy
) -> tuple[dict[str, Study], dict[str, float]]:
    """Explain counters that are higher than their peers', beside what is slow anyway."""
    studies: dict[str, Study] = {}
    usual: dict[str, float] = {}
    for name, limit in policy.counter_limits.items() if throughput else ():
        counts = tests.counters.get(name)
        if throughput is None or counts is None or not _comparable(~np.isnan(counts)):
            continue
        seen = np.sort(counts[~np.isnan(counts)])
        usual[name] = float(seen[len(seen) // 4])  # faults only raise counts, and may raise half
        if seen[-1] - usual[name] <= limit:
            continue
        deviation = usual[name] - counts
        both = Limit(sigmas=policy.counter_sigmas, least=limit)
        explainer = Explainer(
            seats=tests.seats,
            deviation=deviation,
            sigma=_sigma(deviation, _kept(throughput)),
            node_limit=both,
            leaf_limit=both,
        )
        effects = explainer.explain(throughput.effects.low_nodes, throughput.effects.low_leaves)
        studies[name] = Study(explainer, effects)
    return studies, usual


def _comparable(counted: Mask) -> bool:
    count = counted.sum(axis=1)
    return int((count > 0).sum()) >= PEERS_MIN and 2 * int(count.max()) < int(count.sum())


def _unsteady(tests: RailTests, deviation: Values, sigma: float, policy: Policy) -> str:
    if sigma > policy.noise_max:
        return f"tests scatter by {sigma:.1%}, at most {policy.noise_max:.1%} can be judged"
    with np.errstate(invalid="ignore"):
        fast = tests.once() & (deviation > max(FAST_SIGMAS * sigma, FAST_FRACTION))
    count, seen = int(fast.sum()), int((tests.once() & ~np.isnan(deviation)).sum())
    row, column = np.nonzero(fast)
    nodes = len(np.union1d(row, tests.seats.partner[row, column]))
    if count < FAST_SHARE * seen or nodes < FAST_NODES_MIN:
        return ""
    best = float(deviation[fast].max())
    return (
        f"{count} of {seen} tests, of {nodes} nodes, are up to {best:.0%} faster"
        " than the median: most nodes are slow, or the test is not steady"
    )
