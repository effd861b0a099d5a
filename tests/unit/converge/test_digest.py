"""Digests name the part that changed, and only that one."""

from __future__ import annotations

import shutil
from pathlib import Path

from muster.converge.digest import PLAYBOOKS, content_digests, rendered_digests
from muster.converge.options import lab_options
from muster.converge.slurm_config import TEMPLATES, render
from tests.unit.converge.sample import TYPES, lab_fleet


def test_every_role_playbook_and_template_folder_has_a_digest() -> None:
    found = content_digests()
    assert {"role:slurmd", "playbook:site.yml", "playbook:library", "templates:slurm"} <= set(found)
    assert {f"role:{p.name}" for p in (PLAYBOOKS / "roles").iterdir()} <= set(found)


def test_a_changed_role_changes_its_own_digest_only(tmp_path: Path) -> None:
    shutil.copytree(PLAYBOOKS, tmp_path / "playbooks")
    before = content_digests(tmp_path / "playbooks", TEMPLATES)
    tasks = tmp_path / "playbooks" / "roles" / "slurmd" / "tasks" / "configure.yml"
    tasks.write_text(tasks.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    after = content_digests(tmp_path / "playbooks", TEMPLATES)
    assert {key for key in after if after[key] != before[key]} == {"role:slurmd"}


def test_compiled_python_changes_no_digest(tmp_path: Path) -> None:
    shutil.copytree(PLAYBOOKS, tmp_path / "playbooks")
    before = content_digests(tmp_path / "playbooks", TEMPLATES)
    cache = tmp_path / "playbooks" / "library" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"x")
    assert content_digests(tmp_path / "playbooks", TEMPLATES) == before


def test_one_more_node_changes_files_but_no_role() -> None:
    small, large = (
        rendered_digests(render(lab_fleet(count), TYPES, lab_options())) for count in (2, 3)
    )
    changed = {key for key in large if large[key] != small[key]}
    assert {"files:head:slurmctld", "files:nodes:hosts"} <= changed
    assert "files:nodes:slurmd" not in changed
