"""Rules about the repository itself: what matters is a test, not a sentence."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# Made by programs, or copied: nobody reads them line by line.
GENERATED = re.compile(r"(^|/)(go\.(mod|sum)|LICENSE|requirements.*\.lock)$|^tests/golden/")
FACTS = "muster/catalog/"  # tables of facts are as long as there are facts
CODE = {".py", ".sh", ".j2", ".yml", ".yaml", ".css", ".js"}

# Written in two parts, so that this file does not hold what it looks for.
MARKERS = re.compile(
    r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "HA" + "CK", "XX" + "X"]) + r")\b"
)
HOSTS = re.compile(
    "|".join(
        re.escape(first + second)
        for first, second in [
            ("pypi", ".org"),
            ("python", "hosted.org"),
            ("golang", ".org"),
            ("deb.", "debian.org"),
            ("registry.npm", "js.org"),
            ("crates", ".io"),
            ("rubygems", ".org"),
        ]
    )
)
WORKPLACE = re.compile("/wor" + r"k/(main|shared|\.)|/tmp/scr" + "atch")


def _tracked() -> list[Path]:
    listed = subprocess.run(
        [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if listed.returncode != 0:
        pytest.skip(f"not a git checkout: {listed.stderr.strip()}", allow_module_level=True)
    names = [name for name in listed.stdout.split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _texts() -> dict[str, str]:
    """Every text file that people wrote."""
    texts = {}
    for path in _tracked():
        if not GENERATED.search(_name(path)):
            try:
                texts[_name(path)] = path.read_text()
            except UnicodeDecodeError:
                continue  # a picture
    return texts


TEXTS = _texts()


def _places(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in TEXTS.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_code_file_is_too_long_to_hold_in_mind() -> None:
    code = {n: t for n, t in TEXTS.items() if Path(n).suffix in CODE}
    tables = {name for name in code if name.startswith(FACTS) and name.endswith(".yaml")}
    lengths = {name: text.count("\n") for name, text in code.items() if name not in tables}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_MAX} == {}


def test_no_function_is_too_long() -> None:
    long = []
    for name, text in TEXTS.items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    long.append(f"{name}:{node.lineno}: {node.name} has {lines} lines")
    assert long == []


def test_no_marker_of_unfinished_work_is_left() -> None:
    assert _places(MARKERS) == []


def test_no_file_names_a_package_registry() -> None:
    assert _places(HOSTS) == []


def test_lock_files_name_no_host() -> None:
    for lock in ROOT.glob("requirements*.lock"):
        assert (
            re.findall(r"(?i)https?://\S+|file:\S+|--(?:index|find|extra)\S+", lock.read_text())
            == []
        )


def test_no_file_names_a_path_of_one_workplace() -> None:
    assert _places(WORKPLACE) == []


def _pins(name: str) -> dict[str, str]:
    """Package and version of every pin in a lock file."""
    text = (ROOT / name).read_text()
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^]]*\])?==([^\s;\\]+)", text, re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


def _direct(group: str = "") -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][group] if group else project["dependencies"]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_pin_in_the_lock_has_a_hash(name: str) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", (ROOT / name).read_text())
    pinned = [entry for entry in entries if "==" in entry.splitlines()[0]]
    assert len(pinned) == len(_pins(name)) > 0
    assert [entry.split()[0] for entry in pinned if "--hash=sha256:" not in entry] == []


def test_lock_for_development_holds_the_same_versions_as_the_one_for_use() -> None:
    development = _pins("requirements-dev.lock")
    assert {p: v for p, v in _pins("requirements.lock").items() if development.get(p) != v} == {}


@pytest.mark.parametrize(
    ("group", "name"), [("", "requirements.lock"), ("dev", "requirements-dev.lock")]
)
def test_lock_agrees_with_what_pyproject_asks_for(group: str, name: str) -> None:
    pins = _pins(name)
    wrong = [
        f"{wanted} is locked at {pins.get(canonicalize_name(wanted.name))}; run `make lock`"
        for wanted in _direct(group)
        if pins.get(canonicalize_name(wanted.name)) is None
        or pins[canonicalize_name(wanted.name)] not in wanted.specifier
    ]
    assert wrong == []


def test_every_direct_dependency_has_its_reason_written_down() -> None:
    table = (ROOT / "docs/decisions/0002-dependencies.md").read_text()
    rows = {canonicalize_name(n) for n in re.findall(r"^\| `?([\w.-]+)`? +\|", table, re.MULTILINE)}
    direct = {canonicalize_name(wanted.name) for wanted in [*_direct(), *_direct("dev")]}
    assert direct - rows == set()


def _make_targets() -> set[str]:
    rules = re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(rules)


def _mentioned_targets(text: str) -> set[str]:
    """`make x` in code: between backquotes, or at the start of a line of a fenced block."""
    fenced = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    inline = re.findall(r"`(?:sudo )?make ([a-z][a-z-]*)", text)
    return {*inline, *re.findall(r"^(?:\$ )?(?:sudo )?make ([a-z][a-z-]*)", fenced, re.MULTILINE)}


def test_documents_name_only_make_targets_that_exist() -> None:
    wrong = {
        name: unknown
        for name, text in TEXTS.items()
        if name.endswith(".md") and (unknown := _mentioned_targets(text) - _make_targets())
    }
    assert wrong == {}


def test_readme_tells_how_to_begin() -> None:
    assert {"lab", "test", "down"} <= _mentioned_targets(TEXTS["README.md"])


def test_help_lists_every_target_that_has_a_description() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert set(re.findall(r"^  make ([a-z-]+)", shown, re.MULTILINE)) == _make_targets() - {
        "packages",
        "python",
    }


def test_lab_asks_whether_it_may_run_before_it_changes_anything() -> None:
    planned = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "lab"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert planned[:2] == [
        "command -v python3 > /dev/null || tools/host-packages",
        "python3 muster/lab/privileges.py",
    ]


def test_ci_runs_the_test_command_that_the_readme_gives() -> None:
    assert re.search(r"^make test$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
