"""What is normal on one rail, and which nodes and uplinks deviate from it? Pure.

The reference of a class of pairs is first taken so that slow nodes cannot move it, then learned
again without the tests of what was found to be low.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_high

from muster.acceptance.effects import MAD_TO_SIGMA, Effects, Explainer, Limit, Sample, by_node
from muster.acceptance.locate_model import Kind, PairClass, Policy

PEERS_MIN = 4
"""With fewer nodes a median says nothing about who of them is slow."""

PASSES = 3
"""Reference and noise settle in two or three passes."""

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


@dataclass(frozen=True, slots=True)
class PairTest:
    """One valid test of a pair on one rail."""

    a: str
    b: str
    kind: Kind
    value: float
    counters: Mapping[str, float]
    round: int

    def sample(self, deviation: float) -> Sample:
        """Return the test as a deviation from its peers."""
        return Sample(self.a, self.b, self.kind == "cross", deviation, self.round)


@dataclass(frozen=True, slots=True)
class Study:
    """One quantity of one rail: an explanation, and what it was explained with."""

    explainer: Explainer
    effects: Effects


@dataclass(frozen=True, slots=True)
class RailStudy:
    """All that one rail's tests say; `throughput` is None where no class has enough peers."""

    tests: tuple[PairTest, ...]
    classes: Mapping[Kind, PairClass]
    throughput: Study | None
    counters: Mapping[str, Study]
    counter_usual: Mapping[str, float]
    unsteady: str
    """Why the median is no measure of what is normal; empty if it is."""


def first_noise(rails: Iterable[Iterable[PairTest]]) -> float:
    """Estimate the noise of all rails from the tests above a first reference.

    Faults only make tests slower, so what is faster than good nodes usually are is noise alone;
    unless most nodes are slow and the good ones stand out, which the closest half of all shows.
    """
    deviations: list[float] = []
    for tests in rails:
        comparable = _comparable_groups(_by_kind(tests))
        samples = _samples(comparable, _first_references(comparable))
        deviations += [sample.deviation for sample in samples]
    above = [deviation for deviation in deviations if deviation > 0]
    if not above:
        return 0.0
    sigma, closest = ABOVE_TO_SIGMA * median(above), _closest_half(sorted(deviations))
    return closest if sigma > FAST_GROUP * closest else sigma


def _closest_half(values: Sequence[float]) -> float:
    """Estimate noise from the narrowest range that holds half of the values."""
    half = len(values) // 2
    width = min(values[i + half] - values[i] for i in range(len(values) - half))
    return width / HALF_WIDTH_SIGMAS


def study_rail(
    tests: Iterable[PairTest],
    *,
    rail: int | None,
    leaf_of: Mapping[str, str],
    policy: Policy,
    noise: float,
) -> RailStudy:
    """Learn what is normal on this rail, and explain what deviates by more than `noise`."""
    tests = tuple(tests)
    groups = _by_kind(tests)
    comparable = _comparable_groups(groups)
    references = _first_references(comparable)
    samples = _samples(comparable, references)
    sigma = noise
    throughput = None
    for _ in range(PASSES if comparable else 0):
        throughput = _explain_throughput(samples, sigma, leaf_of, policy)
        references = _learn_references(comparable, references, throughput)
        samples = _samples(comparable, references)
        sigma = max(noise, _sigma(_kept(samples, throughput)))
    counters, usual = _study_counters(tests, throughput, leaf_of, policy)
    return RailStudy(
        tests=tests,
        classes={
            kind: PairClass(
                rail=rail,
                kind=kind,
                median_bps=references.get(kind, median(test.value for test in group)),
                noise=sigma,
                n=len(group),
            )
            for kind, group in groups.items()
        },
        throughput=throughput,
        counters=counters,
        counter_usual=usual,
        unsteady=_unsteady(samples, sigma, policy),
    )


def _by_kind(tests: Iterable[PairTest]) -> dict[Kind, list[PairTest]]:
    groups: dict[Kind, list[PairTest]] = defaultdict(list)
    for test in tests:
        groups[test.kind].append(test)
    return groups


def _comparable_groups(groups: Mapping[Kind, list[PairTest]]) -> dict[Kind, list[PairTest]]:
    return {kind: group for kind, group in groups.items() if _comparable(group)}


def _comparable(group: list[PairTest]) -> bool:
    """Can tests be judged by their peers: are there enough nodes, and none that is in all tests?"""
    nodes = {node for test in group for node in (test.a, test.b)}
    in_all = set.intersection(*({test.a, test.b} for test in group))
    return len(nodes) >= PEERS_MIN and not in_all


def _first_references(groups: Mapping[Kind, list[PairTest]]) -> dict[Kind, float]:
    return {kind: _first_reference(group) for kind, group in groups.items()}


def _first_reference(group: list[PairTest]) -> float:
    """Take the median over nodes of their better tests.

    One slow uplink of four slows half of all pairs across leaves, but only a quarter of the nodes,
    and it leaves the others some fast partners.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for test in group:
        values[test.a].append(test.value)
        values[test.b].append(test.value)
    return median_high(sorted(v)[(3 * len(v)) // 4] for v in values.values())


def _samples(
    groups: Mapping[Kind, list[PairTest]], references: Mapping[Kind, float]
) -> list[Sample]:
    return [
        test.sample(test.value / references[kind] - 1)
        for kind, group in groups.items()
        for test in group
    ]


def _sigma(samples: list[Sample]) -> float:
    if not samples:
        return 0.0
    return MAD_TO_SIGMA * median(abs(sample.deviation) for sample in samples)


def _explain_throughput(
    samples: list[Sample], sigma: float, leaf_of: Mapping[str, str], policy: Policy
) -> Study:
    explainer = Explainer(
        tests=by_node(samples),
        leaf_of=leaf_of,
        sigma=sigma,
        node_limit=Limit(sigmas=policy.node_sigmas, least=policy.node_fraction),
        leaf_limit=Limit(sigmas=policy.leaf_sigmas, least=policy.leaf_fraction),
    )
    return Study(explainer, explainer.explain())


def _kept(samples: list[Sample], study: Study) -> list[Sample]:
    """Leave out the tests of low nodes and, across leaves, of low uplinks."""
    return [
        sample
        for sample in samples
        if sample.a not in study.effects.low_nodes
        and sample.b not in study.effects.low_nodes
        and not study.explainer.uplink_low(sample, study.effects.low_leaves)
    ]


def _learn_references(
    groups: Mapping[Kind, list[PairTest]], references: Mapping[Kind, float], study: Study
) -> dict[Kind, float]:
    """Take the median of the tests that nothing explains; keep the old one if there are none."""
    learned = dict(references)
    for kind, group in groups.items():
        kept = _kept([test.sample(test.value) for test in group], study)
        if kept:
            learned[kind] = median(sample.deviation for sample in kept)
    return learned


def _study_counters(
    tests: tuple[PairTest, ...],
    throughput: Study | None,
    leaf_of: Mapping[str, str],
    policy: Policy,
) -> tuple[dict[str, Study], dict[str, float]]:
    """Explain counters that are higher than their peers', beside what is slow anyway."""
    if throughput is None:
        return {}, {}
    studies, usual = {}, {}
    for name, limit in policy.counter_limits.items():
        counted = [test for test in tests if name in test.counters]
        if not counted or not _comparable(counted):
            continue
        counts = sorted(test.counters[name] for test in counted)
        usual[name] = counts[len(counts) // 4]  # faults only raise counts, and may raise half
        samples = [test.sample(usual[name] - test.counters[name]) for test in counted]
        both = Limit(sigmas=policy.counter_sigmas, least=limit)
        explainer = Explainer(
            tests=by_node(samples),
            leaf_of=leaf_of,
            sigma=_sigma(_kept(samples, throughput)),
            node_limit=both,
            leaf_limit=both,
        )
        effects = explainer.explain(throughput.effects.low_nodes, throughput.effects.low_leaves)
        studies[name] = Study(explainer, effects)
    return studies, usual


def _unsteady(samples: list[Sample], sigma: float, policy: Policy) -> str:
    if sigma > policy.noise_max:
        return f"tests scatter by {sigma:.1%}, at most {policy.noise_max:.1%} can be judged"
    limit = max(FAST_SIGMAS * sigma, FAST_FRACTION)
    fast = [sample for sample in samples if sample.deviation > limit]
    nodes = {node for sample in fast for node in (sample.a, sample.b)}
    if len(fast) < FAST_SHARE * len(samples) or len(nodes) < FAST_NODES_MIN:
        return ""
    best = max(sample.deviation for sample in fast)
    return (
        f"{len(fast)} of {len(samples)} tests, of {len(nodes)} nodes, are up to {best:.0%} faster"
        " than the median: most nodes are slow, or the test is not steady"
    )
