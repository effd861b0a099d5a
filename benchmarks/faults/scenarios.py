"""What is broken in each scenario, and what an answer must therefore say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any

from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.fabric.model import Fabric

LEAF_SIZE = 16
ALL_SIZES = 16_384
FEW = 0.01
MANY = 0.10
SECONDS_OF_FOREIGN_LOAD = 3
"""A round of the screening in which something else runs; any would do."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is at fault: nodes with their component, leaves, or the fleet as a whole."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    leaves: frozenset[str] = frozenset()
    fleet: bool = False
    excused: frozenset[str] = frozenset()
    """Nodes that are broken in a way that no speed shows: neither to be named nor healthy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Noise and faults; `inject` returns the fleet's arguments and the truth."""

    title: str
    inject: Callable[[Fabric, Random], tuple[dict[str, Any], Truth]]
    noise: float = 0.01
    spread: float = 0.005
    transients: float = 0.01
    rails: int = 1
    largest: int = 512
    """Largest fleet on which it is tried by default."""
    floor: bool = False
    """Is it known what the links should reach?"""

    def fabric(self, nodes: int) -> Fabric:
        """Return leaves of 16, the last one smaller if it does not come out even."""
        names = [f"n{number}" for number in range(nodes)]
        starts = range(0, nodes, LEAF_SIZE)
        leaves = {f"leaf{start // LEAF_SIZE}": names[start : start + LEAF_SIZE] for start in starts}
        return Fabric(leaves, self.rails)

    def fleet(self, fabric: Fabric, faults: Mapping[str, Any], seed: int) -> SimulatedFleet:
        """Return the fleet with its faults."""
        return SimulatedFleet(
            fabric=fabric,
            seed=seed,
            noise=self.noise,
            node_spread=self.spread,
            transient_rate=self.transients,
            **faults,
        )


def _chosen(fabric: Fabric, chance: Random, share: float) -> list[str]:
    names = fabric.nodes()
    return chance.sample(names, max(1, round(share * len(names))))


def _nothing(_fabric: Fabric, _chance: Random) -> tuple[dict[str, Any], Truth]:
    return {}, Truth()


def _slow(share: float, drop: float) -> Callable[[Fabric, Random], tuple[dict[str, Any], Truth]]:
    def inject(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
        names = _chosen(fabric, chance, share)
        return {"nodes": dict.fromkeys(names, 1 - drop)}, Truth(dict.fromkeys(names, "node"))

    return inject


def _intermittent(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    names = _chosen(fabric, chance, FEW)
    return {"intermittent": dict.fromkeys(names, (0.35, 0.7))}, Truth(dict.fromkeys(names, "node"))


def _uplink(slow_nodes: int) -> Callable[[Fabric, Random], tuple[dict[str, Any], Truth]]:
    def inject(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
        leaf = chance.choice(list(fabric.leaves))
        rails = range(fabric.rails)
        elsewhere = [n for name, members in fabric.leaves.items() if name != leaf for n in members]
        names = chance.sample(elsewhere, slow_nodes)
        faults = {
            "uplinks": {(leaf, rail): 0.8 for rail in rails},
            "nodes": dict.fromkeys(names, 0.8),
        }
        return faults, Truth(dict.fromkeys(names, "node"), frozenset({leaf}))

    return inject


def _rail(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    rail_of = {name: chance.randrange(fabric.rails) for name in _chosen(fabric, chance, FEW)}
    truth = Truth({name: f"rail:{rail}" for name, rail in rail_of.items()})
    return {"rails": dict.fromkeys(rail_of.items(), 0.8)}, truth


def _loss(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    rail_of = {name: chance.randrange(fabric.rails) for name in _chosen(fabric, chance, FEW)}
    truth = Truth({name: f"rail:{rail}" for name, rail in rail_of.items()})
    return {"retransmits": dict.fromkeys(rail_of.items(), 160.0)}, truth


def _corrupt(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    names = _chosen(fabric, chance, FEW)
    return {"wrong": dict.fromkeys(names, 0.5)}, Truth(dict.fromkeys(names, "node"))


def _hang(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    names = frozenset(_chosen(fabric, chance, FEW))
    return {"dead": names}, Truth(excused=names)


def _flaky(fabric: Fabric, _chance: Random) -> tuple[dict[str, Any], Truth]:
    return {"broken": dict.fromkeys(fabric.nodes(), 0.05)}, Truth()


def _broken_test(fabric: Fabric, _chance: Random) -> tuple[dict[str, Any], Truth]:
    return {"dead": frozenset(fabric.nodes())}, Truth(fleet=True)


def _foreign_load(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    names = _chosen(fabric, chance, 0.75)
    slow = {(name, SECONDS_OF_FOREIGN_LOAD): chance.uniform(0.6, 0.9) for name in names}
    return {"slow_rounds": slow}, Truth()


def _all_slow(fabric: Fabric, _chance: Random) -> tuple[dict[str, Any], Truth]:
    return {"nodes": dict.fromkeys(fabric.nodes(), 0.8)}, Truth(fleet=True)


def _most_slow(fabric: Fabric, chance: Random) -> tuple[dict[str, Any], Truth]:
    names = _chosen(fabric, chance, 0.6)
    return {"nodes": dict.fromkeys(names, 0.8)}, Truth(fleet=True, excused=frozenset(names))


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "nothing": Scenario(title="nothing", inject=_nothing, largest=ALL_SIZES),
        "nothing-noisy": Scenario(
            title="nothing; noise 3 %, 5 % of tests disturbed",
            inject=_nothing,
            noise=0.03,
            transients=0.05,
        ),
        "slow-8": Scenario(
            title="1 % of nodes 8 % slow", inject=_slow(FEW, 0.08), largest=ALL_SIZES
        ),
        "slow-8-many": Scenario(title="10 % of nodes 8 % slow", inject=_slow(MANY, 0.08)),
        "slow-5": Scenario(title="1 % of nodes 5 % slow", inject=_slow(FEW, 0.05)),
        "slow-30": Scenario(title="1 % of nodes 30 % slow", inject=_slow(FEW, 0.30)),
        "slow-8-lively": Scenario(
            title="1 % of nodes 8 % slow; noise 2 %, 3 % disturbed",
            inject=_slow(FEW, 0.08),
            noise=0.02,
            transients=0.03,
        ),
        "slow-15-noisy": Scenario(
            title="1 % of nodes 15 % slow; noise 3 %, 5 % disturbed",
            inject=_slow(FEW, 0.15),
            noise=0.03,
            transients=0.05,
        ),
        "intermittent": Scenario(
            title="1 % of nodes 30 % slow in 35 % of tests", inject=_intermittent, largest=ALL_SIZES
        ),
        "uplink": Scenario(title="one leaf uplink 20 % slow", inject=_uplink(0), largest=4096),
        "uplink-and-nodes": Scenario(
            title="one leaf uplink and 2 nodes elsewhere 20 % slow", inject=_uplink(2)
        ),
        "rail": Scenario(
            title="one rail of 4 of 1 % of nodes 20 % slow", inject=_rail, rails=4, largest=4096
        ),
        "loss": Scenario(
            title="one rail of 4 of 1 % of nodes loses packets, at full speed",
            inject=_loss,
            rails=4,
        ),
        "corrupt": Scenario(title="1 % of nodes wrong in half of their tests", inject=_corrupt),
        "hang": Scenario(title="1 % of nodes never answer", inject=_hang),
        "flaky": Scenario(title="each node breaks 5 % of its tests", inject=_flaky),
        "broken-test": Scenario(title="the test is broken everywhere", inject=_broken_test),
        "foreign-load": Scenario(
            title="three quarters of nodes 10 to 40 % slow in one round",
            inject=_foreign_load,
            largest=4096,
        ),
        "all-slow": Scenario(
            title="all nodes 20 % slow, floor known", inject=_all_slow, floor=True
        ),
        "most-slow": Scenario(title="60 % of nodes 20 % slow", inject=_most_slow),
    }
)
