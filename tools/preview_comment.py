"""The comment of a pull request: what a stack would become, cost and lose, and why it would fail.

    tools/preview STACK... [--out FILE] [--offline] [--preview FILE]

For each stack it runs `pulumi preview --json` and `muster plan --format markdown`, and writes one
comment with a hidden mark in its first line, by which a later run finds it to write it anew. It
posts nothing. A stack that is not deployed is previewed against an empty state, thrown away after.
Exit status, the gravest of all stacks: 0 pass, 3 could not tell, 1 would fail, 2 wrong spec.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster import shell
from muster.errors import MusterError

MARK = "<!-- muster preview -->"
"""The first line: what a job looks for to find its own comment."""
BYTES_MAX = 60_000
"""GitHub takes comments of 65,536 characters; what is said beside the stacks needs the rest."""

_PREVIEW_S = 1200.0
_PLAN_S = 600.0
_QUICK_S = 120.0
_PASS, _FAIL, _WRONG, _UNKNOWN = 0, 1, 2, 3
_GRAVEST_LAST = (_PASS, _UNKNOWN, _FAIL, _WRONG)
_TITLES = {
    _PASS: "🟢 {stack}: nothing speaks against it",
    _FAIL: "🔴 {stack}: would fail, or lose what nobody said may be lost",
    _WRONG: "🔴 {stack}: its file has mistakes",
    _UNKNOWN: "🟡 {stack}: could not be told",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """What is said of one stack."""

    stack: str
    status: int
    body: str

    def text(self, bytes_max: int) -> str:
        """Return title and body; a body that is too long is cut, and says so."""
        title = "## " + _TITLES[self.status].format(stack=self.stack)
        return f"{title}\n\n{_cut(self.body, bytes_max)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the comment; returns the exit status."""
    asked = _arguments(argv)
    try:
        sections = [_section(stack, asked) for stack in asked.stacks]
    except MusterError as error:
        print(f"preview: {error}", file=sys.stderr)
        return _UNKNOWN
    text = comment(sections)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return _gravest(section.status for section in sections)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("preview", description=__doc__, formatter_class=form)
    parser.add_argument("stacks", nargs="+", metavar="STACK")
    parser.add_argument("--out", type=Path, help="write the comment here, not to the terminal")
    parser.add_argument("--offline", action="store_true", help="ask neither cloud nor engine")
    parser.add_argument("--preview", type=Path, help="what `pulumi preview --json` printed before")
    asked = parser.parse_args(argv)
    if asked.preview and len(asked.stacks) > 1:
        parser.error("--preview is of one stack")
    return asked


def comment(sections: Sequence[Section]) -> str:
    """Join what is said of each stack; each has an equal share of the longest comment."""
    share = BYTES_MAX // len(sections)
    return "\n".join([MARK, *(section.text(share) for section in sections)])


def _section(stack: str, asked: argparse.Namespace) -> Section:
    if asked.preview or asked.offline:
        return _planned(stack, asked.preview, offline=asked.offline)
    with tempfile.TemporaryDirectory(prefix="muster-preview-") as folder:
        state = Path(folder)
        printed, status = _preview(stack, state)
        if _is_object(printed):
            path = state / "preview.json"
            path.write_text(printed, encoding="utf-8")
            return _planned(stack, path, offline=False)
    what = f"`pulumi preview` ended with status {status} and printed no steps; the log says why"
    return _without_preview(stack, what, offline=False)


def _planned(stack: str, preview: Path | None, *, offline: bool) -> Section:
    words = ["plan", stack, "--format", "markdown"]
    words += ["--offline"] if offline else []
    # The engine was asked already, or could not answer: `muster plan` is not to ask it again.
    words += ["--preview", str(preview)] if preview else ["--no-preview"]
    done = _run("muster", words, timeout_s=_PLAN_S)
    sys.stderr.write(done.stderr)
    status = done.rc if done.rc in _TITLES else _UNKNOWN
    if done.stdout.strip():
        return Section(stack=stack, status=status, body=done.stdout)
    why = done.stderr.strip() or f"muster plan ended with status {done.rc}"
    if preview and status == _UNKNOWN:
        return _without_preview(stack, why, offline=offline)
    # A plan that says nothing has proved nothing.
    return Section(stack=stack, status=status or _UNKNOWN, body=_quoted(why))


def _without_preview(stack: str, why: str, *, offline: bool) -> Section:
    """Say what the plan alone says; with half of the answer missing, that is never a pass."""
    plan = _planned(stack, None, offline=offline)
    body = f"🔴 **What would be built and lost is not known**\n\n{_quoted(why)}\n{plan.body}"
    return Section(stack=stack, status=_gravest([plan.status, _UNKNOWN]), body=body)


def _gravest(statuses: Iterable[int]) -> int:
    return max(statuses, key=_GRAVEST_LAST.index)


def _quoted(text: str) -> str:
    """Write lines as they are: indented, Markdown takes nothing in them for its own."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def _preview(stack: str, state: Path) -> tuple[str, int]:
    """Return what `pulumi preview --json` printed, and its exit status."""
    words = ["preview", "--stack", stack, "--json", "--non-interactive"]
    if _is_deployed(stack):
        done = _run("pulumi", words, timeout_s=_PREVIEW_S)
    else:
        done = _preview_of_new(stack, words, state)
    sys.stderr.write(done.stderr)
    return done.stdout, done.rc


def _is_deployed(stack: str) -> bool:
    listed = _run("pulumi", ["stack", "ls", "--json", "--non-interactive"], timeout_s=_QUICK_S)
    if not listed.ok:
        what = f"`pulumi stack ls` ended with status {listed.rc}: {listed.stderr.strip()[-300:]}"
        raise MusterError(what, hint="Log in to the backend, or use --offline.")
    names = (entry["name"].rsplit("/", maxsplit=1)[-1] for entry in json.loads(listed.stdout))
    return stack in names


def _preview_of_new(stack: str, words: Sequence[str], state: Path) -> shell.Completed:
    """Preview against an empty state, so that a pull request writes nothing into the backend."""
    environ = {
        **os.environ,
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": os.environ.get("PULUMI_CONFIG_PASSPHRASE", "thrown away"),
    }
    # The wrapper sets no home beside a foreign backend, and the plugins are in its own.
    home = Path(".muster/pulumi-home").resolve()
    if not os.environ.get("PULUMI_BACKEND_URL") and home.is_dir():
        environ.setdefault("PULUMI_HOME", str(home))
    file = Path("stacks") / f"Pulumi.{stack}.yaml"
    before = file.read_bytes() if file.exists() else None
    try:
        made = _run("pulumi", ["stack", "init", stack, "--non-interactive"], environ=environ)
        if not made.ok:
            return made
        return _run("pulumi", words, timeout_s=_PREVIEW_S, environ=environ)
    finally:
        # `stack init` notes the salt of its passphrase in the stack's file.
        if before is not None:
            file.write_bytes(before)


def _run(
    name: str,
    words: Sequence[str],
    *,
    timeout_s: float = _QUICK_S,
    environ: Mapping[str, str] | None = None,
) -> shell.Completed:
    beside = Path(sys.executable).parent / name
    return shell.run([str(beside), *words], timeout_s=timeout_s, env=environ)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _cut(body: str, bytes_max: int) -> str:
    """Keep whole lines up to so many bytes, close what is left open, and say that more follows."""
    kept, size = [], 0
    for line in body.splitlines(keepends=True):
        size += len(line.encode())
        if size > bytes_max:
            break
        kept.append(line)
    text = "".join(kept)
    if text == body:
        return body
    open_parts = text.count("<details>") - text.count("</details>")
    note = "Cut here: a comment has a longest length. `muster plan` prints all of it."
    return text + "\n</details>\n" * open_parts + f"\n{note}\n"


if __name__ == "__main__":
    sys.exit(main())
