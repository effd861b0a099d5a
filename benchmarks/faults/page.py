"""One page of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.faults.methods import ABLATION_NODES, ABLATIONS, METHODS, OWN
from benchmarks.faults.scenarios import SCENARIOS
from benchmarks.faults.tally import Share, Tally
from benchmarks.faults.trials import Key

Tallies = Mapping[Key, Tally]

RECALL_SLOW = 0.99
RECALL_INTERMITTENT = 0.90
FALSE_MAX = 0.002
RAIL_MIN = 0.95
ROUNDS_MAX = 16
SIZES_OF_TARGETS = (512, 4096)

INTRO = """# How well faults are found: simulation

Made by `{command}` on {date}, seeds from {seed}, {trials} trials of each scenario, size and
method. The fleet exists as numbers only: leaves of 16; a pair is as fast as its slowest part, times
noise of 1 % (standard deviation), nodes differ by 0.5 %, and 1 % of tests are disturbed (5 to 30 %
slower) unless the scenario says otherwise. That is a model, not hardware. In brackets: 95 % Wilson
intervals. *False* are healthy nodes named, per healthy node-run; *exact* are runs in which nodes,
leaves and fleet were all named as they are, and nothing else; *held back* are healthy nodes left
suspect.

The simpler methods have as many rounds (16) and are given more than they have in the field: pairs
compare with the median of their own round, groups and absolute checks with the links' true speed,
and a test that is not valid accuses nobody. None of them sees counters, wrong results or which leaf
a node sits on.
"""

BEST = """The best of the others has the greatest exact share in that scenario, then the greatest
recall.
"""

TAKEN_OUT = """Exact share, and false per healthy node-run. Taken out: the validity gate (a broken
test reads as a slow one); which leaf a node sits on; the weighing of single low tests; the
counters.
"""


def render(tallies: Tallies, *, command: str, date: str, seed: int, trials: int) -> str:
    """Write the page."""
    sizes = sorted({nodes for _, nodes, _ in tallies})
    parts = [INTRO.format(command=command, date=date, seed=seed, trials=trials)]
    parts += ["## Targets\n", *_targets(tallies), "", "## muster beside the best of the others\n"]
    parts += [BEST]
    for nodes in sizes:
        parts += [f"### {nodes:,} nodes\n", *_beside(tallies, nodes), ""]
    parts += ["## All methods: exact share and recall\n", *_all_methods(tallies, sizes), ""]
    parts += [f"## With a part taken out, {ABLATION_NODES} nodes\n", *_ablations(tallies), ""]
    return "\n".join(parts)


def _targets(tallies: Tallies) -> Iterator[str]:
    own = {(s, n): t for (s, n, method), t in tallies.items() if method == OWN}
    yield "| target | measured | met |"
    yield "|---|---|---|"
    wanted = (
        ("slow-8", RECALL_SLOW, "8 % slow"),
        ("intermittent", RECALL_INTERMITTENT, "intermittent"),
    )
    for scenario, least, what in wanted:
        for nodes in SIZES_OF_TARGETS:
            if (scenario, nodes) in own:
                share = own[scenario, nodes].recall
                name = f"recall of nodes {what}, {nodes:,} nodes, at least {least}"
                yield _row(name, _interval(share), met=(share.value or 0) >= least)
    worst = max(own, key=lambda key: own[key].false.value or 0)
    value = own[worst].false
    text = f"{_figure(value.value, 5)} at most (`{worst[0]}`, {worst[1]:,} nodes)"
    name = f"false per healthy node-run, every scenario, at most {FALSE_MAX}"
    yield _row(name, text, met=(value.value or 0) <= FALSE_MAX)
    leaf, blamed = Share(), Share()
    for (scenario, _), tally in own.items():
        if scenario == "uplink":
            leaf.add(tally.leaf.hits, tally.leaf.of)
            blamed.add(tally.false.hits, tally.false.of)
    text = f"named {_interval(leaf)}, nodes blamed {blamed.hits} of {blamed.of:,}"
    yield _row(
        "a bad uplink is named, and no node blamed", text, met=leaf.value == 1 and not blamed.hits
    )
    rail = Share()
    for (scenario, _), tally in own.items():
        if scenario == "rail":
            rail.add(tally.component.hits, tally.recall.of)
    yield _row(
        f"rail named in at least {RAIL_MIN} of rail faults",
        _interval(rail),
        met=(rail.value or 0) >= RAIL_MIN,
    )
    rounds = max(tally.rounds for tally in own.values())
    yield _row(f"at most {ROUNDS_MAX} rounds", str(rounds), met=rounds <= ROUNDS_MAX)
    worse = [f"`{s}`, {n:,} nodes" for s, n in own if _is_worse(tallies, s, n)]
    name = "exact share nowhere below the best of the others (beyond both intervals)"
    yield _row(name, f"below in: {'; '.join(worse) or 'none'}", met=not worse)


def _row(name: str, text: str, *, met: bool) -> str:
    return f"| {name} | {text} | {'yes' if met else '**no**'} |"


def _is_worse(tallies: Tallies, scenario: str, nodes: int) -> bool:
    mine, best = tallies[scenario, nodes, OWN].exact, _best(tallies, scenario, nodes)[1].exact
    return mine.interval()[1] < best.interval()[0]


def _best(tallies: Tallies, scenario: str, nodes: int) -> tuple[str, Tally]:
    others = [
        (method, tallies[scenario, nodes, method])
        for method in METHODS
        if method != OWN and (scenario, nodes, method) in tallies
    ]
    return max(others, key=lambda item: (item[1].exact.value or 0, item[1].recall.value or 0))


def _beside(tallies: Tallies, nodes: int) -> Iterator[str]:
    yield (
        "| broken | recall | false | exact | part right | leaf | held back | untested | rounds |"
        " best other | its recall | its false | its exact |"
    )
    yield "|" + "---|" * 13
    for name, scenario in SCENARIOS.items():
        own = tallies.get((name, nodes, OWN))
        if own is None:
            continue
        title, other = _best(tallies, name, nodes)
        cells = (
            scenario.title,
            _interval(own.recall),
            _figure(own.false.value, 5),
            _interval(own.exact),
            _figure(own.component.value),
            _figure(own.leaf.value),
            _figure(own.suspects.value, 5),
            _figure(own.untested.value),
            str(own.rounds),
            title,
            _figure(other.recall.value),
            _figure(other.false.value, 5),
            _interval(other.exact),
        )
        yield f"| {' | '.join(cells)} |"


def _all_methods(tallies: Tallies, sizes: list[int]) -> Iterator[str]:
    yield f"| broken | nodes | {' | '.join(METHODS)} |"
    yield "|" + "---|" * (len(METHODS) + 2)
    for name, scenario in SCENARIOS.items():
        for nodes in sizes:
            if (name, nodes, OWN) in tallies:
                found = [tallies.get((name, nodes, method)) for method in METHODS]
                cells = [
                    f"{_figure(t.exact.value)} / {_figure(t.recall.value)}" if t else "not run"
                    for t in found
                ]
                yield f"| {scenario.title} | {nodes:,} | {' | '.join(cells)} |"


def _ablations(tallies: Tallies) -> Iterator[str]:
    yield TAKEN_OUT
    methods = (OWN, *ABLATIONS)
    yield f"| broken | {' | '.join(methods)} |"
    yield "|" + "---|" * (len(methods) + 1)
    for name, scenario in SCENARIOS.items():
        found = [tallies.get((name, ABLATION_NODES, method)) for method in methods]
        cells = [f"{_figure(t.exact.value)}, {_figure(t.false.value, 5)}" for t in found if t]
        if len(cells) == len(methods):
            yield f"| {scenario.title} | {' | '.join(cells)} |"


def _figure(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def _interval(share: Share) -> str:
    if share.value is None:
        return "-"
    low, high = share.interval()
    return f"{_figure(share.value)} ({_figure(low)} to {_figure(high)})"
