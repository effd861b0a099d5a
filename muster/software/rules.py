"""What must hold between the components of a row, and between a row and a machine. Pure.

A rule is data (software/rules.yaml). A value that no source states makes its rule unknown, never
passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from muster.catalog.model import Entry
from muster.findings import Outcome
from muster.software.model import Arch, Component, Hardware, MatrixRow, Os
from muster.software.needs import Architecture, HardwareFacts
from muster.software.selection import ROLE_ORDER


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A row on an operating system, and the machine if one is asked about."""

    row: MatrixRow
    os: Os
    roles: frozenset[str]
    """Those that the machine needs; all where no machine is named."""
    hardware: Hardware | None = None
    facts: HardwareFacts
    boot_modes: tuple[str, ...] | None = None
    """Those of the machine; None where no source states them."""
    lustre_efa: bool = False
    unserved: str = ""
    """The accelerators of the machine, where no role is for them."""

    def component(self, name: str) -> Component | None:
        """Return a component that the machine can use."""
        found = self.row.components.get(name)
        if found is None or found.role not in self.roles | _NOT_CHOSEN:
            return None
        return None if self.hardware and not found.serves(self.hardware) else found

    @property
    def arch(self) -> Arch:
        """The machine's, or that of most."""
        return self.hardware.arch if self.hardware else "x86_64"


_NOT_CHOSEN = frozenset({"kernel_hold", "slurmd", "kubernetes"})
"""Roles of components that every node is judged by, whatever is chosen for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came of a rule, and from what; None as outcome: it has nothing to judge here."""

    outcome: Outcome | None
    evidence: str


def _fail(evidence: str) -> Answer:
    return Answer(outcome=Outcome.FAIL, evidence=evidence)


def _unknown(evidence: str) -> Answer:
    return Answer(outcome=Outcome.UNKNOWN, evidence=evidence)


def _judge(holds: bool, evidence: str) -> Answer:  # noqa: FBT001 - the very answer
    return Answer(outcome=Outcome.PASS if holds else Outcome.FAIL, evidence=evidence)


NOTHING = Answer(outcome=None, evidence="")


class _Rule(Entry):
    name: str = Field(pattern=r"^[a-z0-9-]+$")
    why: str = Field(min_length=1)
    source: str


class Same(_Rule):
    """Components of one version."""

    kind: Literal["same"]
    components: tuple[str, ...] = Field(min_length=2)

    def judge(self, asked: Question) -> Answer:
        """Compare all with the first."""
        found = {name: asked.component(name) for name in self.components}
        versions = {name: part.version_on(asked.os) for name, part in found.items() if part}
        if len(versions) < 2:  # noqa: PLR2004 - two to compare
            return NOTHING
        evidence = ", ".join(f"{name} {version or 'unknown'}" for name, version in versions.items())
        stated = {version for version in versions.values() if version}
        if len(stated) > 1:
            return _fail(evidence)
        return _judge(True, evidence) if all(versions.values()) else _unknown(evidence)


class AtLeast(_Rule):
    """A component new enough for another one."""

    kind: Literal["atLeast"]
    component: str
    for_: str = Field(alias="for")
    floors: Mapping[str, str]
    """By the first number of the other's version."""

    def judge(self, asked: Question) -> Answer:
        """Compare with the floor."""
        ours, other = asked.component(self.component), asked.component(self.for_)
        if ours is None or other is None:
            return NOTHING
        found, against = ours.version_on(asked.os), other.version_on(asked.os)
        floor = self.floors.get(against.partition(".")[0])
        evidence = f"{self.component} {found or 'unknown'}, {self.for_} {against or 'unknown'}"
        if floor is None:
            return _unknown(f"{evidence}: no source states what it needs")
        numbers, least = _numbers(found), _numbers(floor)
        if numbers is None or least is None:
            return _unknown(f"{evidence}: needs {floor}")
        return _judge(numbers >= least, f"{evidence}: needs {floor} or newer")


class Kernel(_Rule):
    """Components whose modules must support the kernel of the row."""

    kind: Literal["kernel"]
    kernel: str
    components: tuple[str, ...] = Field(min_length=1)

    def judge(self, asked: Question) -> Answer:
        """Look the kernel up in what each of them supports."""
        kernel = asked.component(self.kernel)
        parts = {name: part for name in self.components if (part := asked.component(name))}
        if not parts:
            return NOTHING
        release = kernel.version_on(asked.os) if kernel else ""
        unsure = []
        for name, part in parts.items():
            patterns = part.kernels.get(asked.os, ())
            if release and patterns and not any(fnmatchcase(release, p) for p in patterns):
                return _fail(f"{name} supports {', '.join(patterns)}, not kernel {release}")
            unsure += [] if patterns else [name]
        if not release:
            return _unknown(f"no source states the kernel of {asked.os}")
        if unsure:
            return _unknown(
                f"kernel {release}: no source says that {', '.join(unsure)} supports it"
            )
        return _judge(True, f"{', '.join(parts)} support kernel {release}")


class BuiltFor(_Rule):
    """A plugin that was built against the row's version of something, as far as it counts."""

    kind: Literal["builtFor"]
    component: str
    for_: str = Field(alias="for")
    numbers: int = Field(ge=1)
    """How many numbers of a version make its interface."""

    def judge(self, asked: Question) -> Answer:
        """Compare what it was built for with what is there."""
        ours, other = asked.component(self.component), asked.component(self.for_)
        if ours is None or other is None:
            return NOTHING
        built, there = _numbers(ours.built_for), _numbers(other.version_on(asked.os))
        evidence = (
            f"{self.component} built for {ours.built_for or 'unknown'},"
            f" {self.for_} {other.version_on(asked.os) or 'unknown'}"
        )
        if built is None or there is None:
            return _unknown(evidence)
        return _judge(built[: self.numbers] == there[: self.numbers], evidence)


class Architectures(_Rule):
    """Which GPU architectures a component may drive, from one of its versions on."""

    kind: Literal["architectures"]
    component: str
    kernel_module: Literal["open", "closed"] | None = None
    """Only where it is this module."""
    since: str = "0"
    """The first version for which this holds."""
    allowed: tuple[Architecture, ...] = Field(min_length=1)

    def judge(self, asked: Question) -> Answer:
        """Look the machine's GPU up."""
        if asked.hardware is None or asked.hardware.vendor != "nvidia":
            return NOTHING
        part = asked.component(self.component)
        if part is None or self.kernel_module not in {None, part.kernel_module}:
            return NOTHING
        model, gpu = asked.hardware.gpu_model, asked.facts.gpus.get(asked.hardware.gpu_model)
        found, since = _numbers(part.version_on(asked.os)), _numbers(self.since)
        if found is None or since is None:
            return _unknown(f"version of {self.component} unknown")
        if found < since:
            return NOTHING
        if gpu is None:
            return _unknown(f"no source states the architecture of {model or 'the GPU'}")
        module = f" ({part.kernel_module} module)" if part.kernel_module else ""
        evidence = f"{model} is {gpu.architecture}; {self.component} {part.version_on(asked.os)}"
        return _judge(gpu.architecture in self.allowed, f"{evidence}{module}")


class DriverForGpu(_Rule):
    """A machine with GPUs of NVIDIA finds a driver in the row that has its kernel module."""

    kind: Literal["driverForGpu"]
    role: str

    def judge(self, asked: Question) -> Answer:
        """Look for a component that serves the machine."""
        if asked.hardware is None or self.role not in asked.roles:
            return NOTHING
        parts = asked.row.of_role(self.role)
        module = asked.hardware.kernel_module
        serving = [name for name, part in parts.items() if part.kernel_module == module]
        model = asked.hardware.gpu_model or "this GPU"
        needed = f"{model} needs the {module} kernel module"
        return _judge(
            bool(serving), f"{needed}; of that the row has {', '.join(serving) or 'none'}"
        )


class Accelerators(_Rule):
    """Accelerators that some role is for."""

    kind: Literal["accelerators"]

    def judge(self, asked: Question) -> Answer:
        """Say which no role is for."""
        if asked.unserved:
            return _fail(f"no role installs software for {asked.unserved}")
        return NOTHING


class BootModes(_Rule):
    """Systems whose images must be able to boot as the type does."""

    kind: Literal["bootModes"]
    systems: Mapping[Os, tuple[str, ...]] = Field(default_factory=dict)
    """How images of a system boot; none: not known."""

    def judge(self, asked: Question) -> Answer:
        """Find a mode that both have."""
        if asked.hardware is None or asked.boot_modes is None:
            return NOTHING
        if {"legacy-bios", "uefi"} <= set(asked.boot_modes):
            return _judge(True, "the type boots by BIOS and by UEFI")
        modes = " and ".join(asked.boot_modes)
        images = self.systems.get(asked.os)
        if not images:
            return _unknown(f"the type boots by {modes} only; the image of {asked.os} may not")
        evidence = f"the type boots by {modes}, images of {asked.os} by {' and '.join(images)}"
        return _judge(bool(set(images) & set(asked.boot_modes)), evidence)


class Order(_Rule):
    """A role that must run before another."""

    kind: Literal["order"]
    first: str
    then: str

    def judge(self, asked: Question) -> Answer:
        """Look both up in the order of the plays."""
        if not {self.first, self.then} <= asked.roles:
            return NOTHING
        first, then = ROLE_ORDER.index(self.first), ROLE_ORDER.index(self.then)
        return _judge(first < then, f"{self.first} is play {first + 1}, {self.then} {then + 1}")


class LustreOverEfa(_Rule):
    """Systems and kernels on which Lustre reaches its servers over EFA."""

    kind: Literal["lustreOverEfa"]
    kernel: str
    systems: Mapping[Os, str]
    """The least kernel by system; empty: any that the system has."""

    def judge(self, asked: Question) -> Answer:
        """Look system and kernel up."""
        if not asked.lustre_efa:
            return NOTHING
        if asked.os not in self.systems:
            return _fail(f"Lustre over EFA is for {', '.join(self.systems)}, not {asked.os}")
        least = _numbers(self.systems[asked.os])
        kernel = asked.component(self.kernel)
        found = kernel.version_on(asked.os) if kernel else ""
        numbers = _numbers(found)
        if least is None:
            return _judge(True, f"Lustre over EFA is for {asked.os}")
        if numbers is None:
            return _unknown(f"needs kernel {self.systems[asked.os]}; that of the row is unknown")
        return _judge(numbers >= least, f"kernel {found}; needs {self.systems[asked.os]} or newer")


class Stated(_Rule):
    """Everything that the machine's roles install is known, checksums too."""

    kind: Literal["stated"]

    def judge(self, asked: Question) -> Answer:
        """Gather what is missing."""
        chosen = {
            name: part
            for name, part in asked.row.components.items()
            if part.role in asked.roles and asked.component(name)
        }
        lacking: dict[str, list[str]] = {}
        for name, part in chosen.items():
            for what in part.missing(asked.os, asked.arch):
                lacking.setdefault(what, []).append(name)
        evidence = "; ".join(f"{what}: {', '.join(names)}" for what, names in lacking.items())
        if any(asked.arch not in part.arch for part in chosen.values()):
            return _fail(evidence)
        if lacking:
            return _unknown(evidence)
        return _judge(True, f"{len(chosen)} components") if chosen else NOTHING


Rule = Annotated[
    Same
    | AtLeast
    | Kernel
    | BuiltFor
    | Architectures
    | DriverForGpu
    | Accelerators
    | BootModes
    | Order
    | LustreOverEfa
    | Stated,
    Field(discriminator="kind"),
]


class RuleBook(Entry):
    """All rules, in the order in which they are told."""

    rules: tuple[Rule, ...] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One rule on one operating system."""

    rule: str
    why: str
    source: str
    os: Os
    outcome: Outcome
    evidence: str


def check(book: RuleBook, asked: Question) -> tuple[Judged, ...]:
    """Judge every rule that has something to judge here."""
    answers = ((rule, rule.judge(asked)) for rule in book.rules)
    return tuple(
        Judged(
            rule=rule.name,
            why=rule.why,
            source=rule.source,
            os=asked.os,
            outcome=answer.outcome,
            evidence=answer.evidence,
        )
        for rule, answer in answers
        if answer.outcome is not None
    )


def _numbers(version: str) -> tuple[int, ...] | None:
    """Return the numbers that begin a version ("2.30.4-1" is 2, 30, 4); None without any."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else None
