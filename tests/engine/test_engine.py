"""Our provider under the real Pulumi engine, with a resource made of files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from muster.engine import Engine

PROJECT = Path(__file__).parent / "project"
REPOSITORY = Path(__file__).parents[2]
STACK = "test"


class Stack:
    """A copy of the project with a file backend and a jar of its own."""

    def __init__(self, directory: Path) -> None:
        self.project = directory / "project"
        self.jar = directory / "jar"
        shutil.copytree(PROJECT, self.project)
        self.jar.mkdir()
        (directory / "state").mkdir()
        self.environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "PULUMI_BACKEND_URL": f"file://{directory}/state",
            "PULUMI_HOME": str(directory / "home"),
            "PULUMI_CONFIG_PASSPHRASE": "",
        }
        self.engine = Engine(self.project, self.environ)
        self.engine.ensure_stack(STACK)
        self.run("config", "set", "directory", str(self.jar))
        self.want(4)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*words),
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def argv(self, *words: str) -> list[str]:
        return [str(Path(sys.executable).parent / "pulumi"), *words, "--stack", STACK]

    def want(self, coins: int) -> None:
        self.run("config", "set", "wanted", str(coins))

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.run("up", "--yes", "--skip-preview", "--refresh", "--non-interactive")

    def outputs(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.run("stack", "output", "--json").stdout)
        return found

    def coins(self) -> int:
        return len(list(self.jar.glob("coin-*")))


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    yield made
    made.run("destroy", "--yes", "--skip-preview", "--non-interactive")


def test_up_makes_it_shows_progress_and_a_preview_then_has_nothing_to_do(stack: Stack) -> None:
    up = stack.up()
    assert up.returncode == 0, up.stdout
    assert "creating (0s) coin 1/4" in up.stdout
    assert stack.outputs() == {"ready": True, "accepted": 4}
    assert stack.run("preview", "--expect-no-changes", "--non-interactive").returncode == 0


def test_a_changed_input_is_previewed_as_an_update_in_place(stack: Stack) -> None:
    stack.up()
    stack.want(5)
    preview = stack.run("preview", "--json", "--non-interactive")
    assert preview.returncode == 0, preview.stdout
    steps = {step["urn"].rsplit("::", 1)[-1]: step for step in json.loads(preview.stdout)["steps"]}
    assert steps["jar"]["op"] == "update"
    assert steps["jar"]["diffReasons"] == ["wanted"]
    assert stack.coins() == 4


def test_made_but_not_right_fails_the_up_keeps_the_outputs_and_is_tried_again(stack: Stack) -> None:
    (stack.jar / "leak").mkdir()
    failed = stack.up()
    assert failed.returncode != 0
    assert "2 of 4 coins" in failed.stdout
    [jar] = [
        r
        for r in stack.engine.export(STACK)["deployment"]["resources"]
        if r["type"] == "muster:index:Acceptance"
    ]
    assert jar["outputs"]["accepted"] == 2
    assert jar["initErrors"]
    (stack.jar / "leak").rmdir()
    assert stack.up().returncode == 0
    assert stack.outputs() == {"ready": True, "accepted": 4}


def test_a_refresh_sees_what_broke_and_the_next_up_mends_it(stack: Stack) -> None:
    stack.up()
    (stack.jar / "coin-1").unlink()
    assert stack.run("preview", "--refresh", "--expect-no-changes").returncode != 0
    assert stack.up().returncode == 0
    assert stack.coins() == 4


@pytest.mark.parametrize("coins_before", [0, 1, 3])
def test_up_after_kill_9_of_up_at_any_moment_finishes_the_job(
    stack: Stack, coins_before: int
) -> None:
    process = subprocess.Popen(
        stack.argv("up", "--yes", "--skip-preview", "--non-interactive"),
        cwd=stack.project,
        env=stack.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children = _wait_for_coins(stack, coins_before, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert alive == [], "the plugin went on without its engine"
    assert len(gone) == len(children)
    assert stack.coins() < 4

    assert "pid" in (stack.engine.clear_dead_lock(STACK) or "")
    up = stack.up()
    assert up.returncode == 0, up.stdout + up.stderr
    assert stack.outputs() == {"ready": True, "accepted": 4}


def test_the_lock_of_a_running_pulumi_is_left_alone(stack: Stack) -> None:
    process = subprocess.Popen(
        stack.argv("up", "--yes", "--skip-preview", "--non-interactive"),
        cwd=stack.project,
        env=stack.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_for_coins(stack, 1, process)
    assert stack.engine.clear_dead_lock(STACK) is None
    assert process.wait(timeout=60) == 0


def _wait_for_coins(
    stack: Stack, coins: int, process: subprocess.Popen[bytes]
) -> list[psutil.Process]:
    """Wait until the jar holds `coins`; returns the plugins that are at work."""
    for _ in range(600):
        plugins = [p for p in psutil.Process(process.pid).children() if "jar.py" in str(_line(p))]
        if stack.coins() >= coins and plugins and (coins or len(plugins) > 0):
            return plugins
        time.sleep(0.05)
    pytest.fail("the engine did not start the plugin within 30 s")


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
