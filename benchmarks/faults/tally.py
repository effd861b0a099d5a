"""Count what was right and wrong over many trials, with 95 % Wilson intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import sqrt

from benchmarks.faults.baselines import Answer
from benchmarks.faults.scenarios import Truth

Z_95 = 1.96


@dataclass(slots=True)
class Share:
    """So many of so many."""

    hits: int = 0
    of: int = 0

    def add(self, hits: int, of: int = 1) -> None:
        """Count on."""
        self.hits += hits
        self.of += of

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.hits / self.of if self.of else None

    def interval(self) -> tuple[float, float]:
        """Return the 95 % Wilson interval."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.hits / self.of, self.of
        middle = share + Z_95**2 / (2 * n)
        half = Z_95 * sqrt(share * (1 - share) / n + Z_95**2 / (4 * n * n))
        scale = 1 + Z_95**2 / n
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


@dataclass(slots=True)
class Tally:
    """All trials of one method in one scenario at one size."""

    recall: Share = field(default_factory=Share)
    false: Share = field(default_factory=Share)
    """Healthy nodes named, of healthy node-runs."""
    suspects: Share = field(default_factory=Share)
    """Healthy nodes held back as suspect, of healthy node-runs."""
    exact: Share = field(default_factory=Share)
    """Runs in which nodes, leaves and fleet are all as they are."""
    component: Share = field(default_factory=Share)
    """Faulty nodes that were named with the part that is at fault, of those named."""
    leaf: Share = field(default_factory=Share)
    untested: Share = field(default_factory=Share)
    rounds: int = 0
    """The most that a trial took."""
    cpu_s: float = 0.0
    """Longest trial, the simulated measuring included."""

    def count(self, truth: Truth, answer: Answer, nodes: tuple[str, ...], cpu_s: float) -> None:
        """Add one trial."""
        named, faulty = set(answer.nodes), set(truth.nodes)
        healthy = set(nodes) - faulty - truth.excused
        found = named & faulty
        self.recall.add(len(found), len(faulty))
        self.false.add(len(named & healthy), len(healthy))
        self.suspects.add(len(answer.suspects & healthy), len(healthy))
        right = named - truth.excused == faulty and answer.leaves == truth.leaves
        self.exact.add(right and answer.fleet == truth.fleet)
        self.component.add(sum(answer.nodes[n] == truth.nodes[n] for n in found), len(found))
        self.leaf.add(len(answer.leaves & truth.leaves), len(truth.leaves))
        self.untested.add(len(answer.untested), len(nodes))
        self.rounds = max(self.rounds, answer.rounds)
        self.cpu_s = max(self.cpu_s, cpu_s)

    def merge(self, other: Tally) -> None:
        """Add the trials of another."""
        for name in ("recall", "false", "suspects", "exact", "component", "leaf", "untested"):
            mine, theirs = getattr(self, name), getattr(other, name)
            mine.add(theirs.hits, theirs.of)
        self.rounds = max(self.rounds, other.rounds)
        self.cpu_s = max(self.cpu_s, other.cpu_s)

    def document(self) -> dict[str, object]:
        """Return plain data."""
        return asdict(self)
