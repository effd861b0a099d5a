"""Pull the stack's signed bundle and apply it to this node; muster-boot.service runs it.

One file, standard library and OpenSSH only. What is not signed by the stack's key, not of this
stack, older than what was seen, or not the bytes that were signed is refused. Until a bundle has
been applied in this boot, the node's slurmd does not start: it waits for RELEASED. Killed at any
moment, the next start begins again; what was verified and unpacked is used as it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import random
import shutil
import subprocess  # noqa: TID251 - runs on a node, where muster is not installed
import sys
import tarfile
import time
import urllib.request
from pathlib import Path
from typing import Any

NAMESPACE = "muster-release"
_STATEMENT_BYTES = 64 * 1024
_FETCH_TIMEOUT_S = 30
_CHUNK = 1 << 20
_MOST_REBOOTS = 3
_PYTHON = (3, 11)
"""What the bundled Ansible needs of the machine that it runs on."""


class NotAcceptedError(Exception):
    """What was pulled must not be applied."""


class NotAppliedError(Exception):
    """The bundle is genuine, but the node did not come to what it says."""


class Places:
    """Where everything lies, below a root that tests move."""

    def __init__(self, root: Path) -> None:
        settings, kept, passing = "etc/muster/boot", "var/lib/muster/boot", "run/muster/boot"
        self.config = root / settings / "config.json"
        self.signers = root / settings / "allowed_signers"
        self.kept = root / kept
        self.status = root / kept / "status.json"
        self.seen = root / kept / "seen.json"
        self.log = root / kept / "apply.log"
        self.result = root / kept / "result.json"
        self.lock = root / passing / "lock"
        self.released = root / passing / "released"
        self.in_service = root / passing / "in-service"
        self.reboot_reasons = root / "run/muster/reboot-required.d"
        for folder in (self.kept, self.lock.parent):
            folder.mkdir(parents=True, exist_ok=True)


class Node:
    """One start of the program."""

    def __init__(self, places: Places, config: dict[str, Any]) -> None:
        self.places = places
        self.config = config
        self.report: dict[str, Any] = {"attempt": 0, "bundle": "", "sequence": 0, "changed": None}

    def run(self) -> int:
        """Try until the node is converged, or as often as the config says."""
        self.withhold()
        most = int(self.config.get("attempts", 0))
        while True:
            self.report["attempt"] += 1
            if self.attempt():
                return 0
            if most and self.report["attempt"] >= most:
                return 1
            time.sleep(self.delay_s())  # noqa: TID251 - no clock is handed in here

    def attempt(self) -> bool:
        """Pull and apply once; says in the status how it went."""
        try:
            self.say("pulling", "")
            bundle = self.pull()
            self.say("applying", "")
            self.apply(bundle)
        except NotAcceptedError as error:
            self.say("refused", str(error))
        except (NotAppliedError, OSError, subprocess.SubprocessError) as error:
            self.say("failed", str(error))
        else:
            return self.finish()
        self.withhold()
        return False

    def delay_s(self) -> float:
        """Seconds until the next attempt: doubled each time, spread over the fleet."""
        first, longest = (
            self.config.get("first_delay_s", 10),
            self.config.get("longest_delay_s", 300),
        )
        upper = min(float(longest), float(first) * 2.0 ** min(int(self.report["attempt"]) - 1, 16))
        return upper * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing

    def withhold(self) -> None:
        """Keep the scheduler's daemon down, unless a bundle was applied in this boot already."""
        if self.places.in_service.exists():
            return
        self.places.released.unlink(missing_ok=True)
        _systemctl("stop", str(self.config["unit"]))

    def pull(self) -> Path:
        """Return the directory of the bundle that the stack's key vouches for."""
        source = str(self.config["source"]).rstrip("/")
        statement = _fetch_small(f"{source}/release.json")
        try:
            signature = _fetch_small(f"{source}/release.json.sig")
        except NotAcceptedError as error:
            message = f"{source}/release.json is not signed: {error}"
            raise NotAcceptedError(message) from error
        self.verify(statement, signature, source)
        release = _statement(statement, source)
        self.check_release(release)
        self.report |= {"bundle": release["bundle"], "sequence": release["sequence"]}
        return self.unpacked(release, source)

    def verify(self, statement: bytes, signature: bytes, source: str) -> None:
        """Ask ssh-keygen whether the stack's key signed it."""
        beside = self.places.kept / "release.sig"
        _write(beside, signature)
        who = ["-I", str(self.config["stack"]), "-n", NAMESPACE, "-s", str(beside)]
        argv = ["ssh-keygen", "-Y", "verify", "-f", str(self.places.signers), *who]
        done = subprocess.run(argv, input=statement, capture_output=True, timeout=30, check=False)
        if done.returncode != 0:
            said = b" ".join((done.stderr or done.stdout).split()).decode(errors="replace")
            message = f"{source}/release.json is not signed by the stack's key: {said}"
            raise NotAcceptedError(message)

    def check_release(self, release: dict[str, Any]) -> None:
        """Refuse what is signed but not for here and now."""
        if release["stack"] != self.config["stack"]:
            message = f"release is for stack {release['stack']!r}, not {self.config['stack']!r}"
            raise NotAcceptedError(message)
        seen = self.remembered()
        if release["sequence"] < seen["sequence"]:
            message = f"release {release['sequence']} is older than {seen['sequence']}, seen before"
            raise NotAcceptedError(message)
        self.remember(sequence=release["sequence"])

    def remembered(self) -> dict[str, Any]:
        """Return what was seen under the same key."""
        signers = hashlib.sha256(self.places.signers.read_bytes()).hexdigest()
        try:
            found: dict[str, Any] = json.loads(self.places.seen.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        same = found if found.get("signers") == signers else {}
        return {"sequence": 0, "reboots": 0} | same | {"signers": signers}

    def remember(self, **news: int) -> None:
        """Keep something for the next start."""
        _write(self.places.seen, json.dumps(self.remembered() | news).encode())

    def unpacked(self, release: dict[str, Any], source: str) -> Path:
        """Return the directory of the bundle; what is half unpacked never has its name."""
        name = str(release["bundle"])
        archive, place = self.places.kept / f"{name}.tar.gz", self.places.kept / name
        if not _is_archive(archive, release):
            _download(f"{source}/{name}.tar.gz", archive, release)
            shutil.rmtree(place, ignore_errors=True)
        if not place.is_dir():
            beside = self.places.kept / f".{name}.new"
            shutil.rmtree(beside, ignore_errors=True)
            with tarfile.open(archive) as opened:
                opened.extractall(beside)  # noqa: S202 - its bytes were signed by the stack's key
            beside.rename(place)
        for other in self.places.kept.iterdir():
            if other.name.lstrip(".").split(".")[0] != name and _is_bundle(other):
                shutil.rmtree(other) if other.is_dir() else other.unlink()
        return place

    def apply(self, bundle: Path) -> None:
        """Run the playbook of the bundle on this machine, with the Ansible that it brings."""
        inventory = bundle / "nodes" / f"{self.config['node']}.json"
        if not inventory.is_file():
            message = f"bundle {bundle.name[:12]} has nothing for node {self.config['node']!r}"
            raise NotAppliedError(message)
        self.places.result.unlink(missing_ok=True)
        # The playbook starts slurmd at its end and looks whether it runs.
        _write(self.places.released, b"")
        argv = [sys.executable, "-m", "ansible.cli.playbook", "-i", str(inventory)]
        argv.append(str(bundle / "playbooks" / "boot.yml"))
        with self.places.log.open("wb") as log:
            done = subprocess.run(
                argv,
                env=_environment(bundle, self.places),
                cwd=bundle,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=float(self.config.get("apply_timeout_s", 1800)),
                check=False,
            )
        self.judge(done.returncode)

    def judge(self, status: int) -> None:
        """Raise unless Ansible ended well and said what it did."""
        try:
            result = json.loads(self.places.result.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            tail = self.places.log.read_text(encoding="utf-8", errors="replace")[-300:]
            message = f"ansible ended with {status} and left no result: {' '.join(tail.split())}"
            raise NotAppliedError(message) from None
        self.report["changed"] = result["changed"]
        if result["failures"]:
            raise NotAppliedError("; ".join(result["failures"]))
        if status != 0 or not result["ok"]:
            message = (
                f"ansible ended with {status} after {result['ok']} tasks; see {self.places.log}"
            )
            raise NotAppliedError(message)

    def finish(self) -> bool:
        """Put the node in service, or reboot it first where that is wanted."""
        reasons = "; ".join(_reasons(self.places.reboot_reasons))
        if not reasons or self.places.in_service.exists():
            _write(self.places.in_service, self.report["bundle"].encode())
            self.remember(reboots=0)
            self.say("converged", f"a reboot is due: {reasons}" if reasons else "")
            return True
        self.withhold()
        reboots = self.remembered()["reboots"]
        if not self.config.get("reboot_allowed", False):
            self.say("reboot-required", reasons)
        elif reboots >= _MOST_REBOOTS:
            self.say("reboot-required", f"after {reboots} reboots still: {reasons}")
        else:
            self.remember(reboots=reboots + 1)
            self.say("rebooting", reasons)
            _systemctl("reboot")
        return True

    def say(self, state: str, message: str) -> None:
        """Write the status; a reader sees the old one or the new one."""
        record = {
            "apiVersion": "muster/v1",
            "kind": "BootStatus",
            "node": self.config["node"],
            "stack": self.config["stack"],
            "state": state,
            "message": message,
            "in_service": self.places.in_service.exists(),
            "time": int(time.time()),
            **self.report,
        }
        _write(self.places.status, json.dumps(record, sort_keys=True).encode() + b"\n")
        sys.stderr.write(f"muster-boot: {state}{': ' if message else ''}{message}\n")
        sys.stderr.flush()


def _environment(bundle: Path, places: Places) -> dict[str, str]:
    return {
        "ANSIBLE_CALLBACKS_ENABLED": "boot_result",
        "ANSIBLE_CALLBACK_PLUGINS": str(bundle / "playbooks" / "callback_plugins"),
        "ANSIBLE_CONFIG": str(bundle / "ansible.cfg"),
        "ANSIBLE_HOME": str(places.kept / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(places.kept / "ansible" / "tmp"),
        "ANSIBLE_NOCOLOR": "1",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "MUSTER_BOOT_RESULT": str(places.result),
        "PATH": os.environ.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"),
        "PYTHONPATH": str(bundle / "runtime"),
    }


def _is_bundle(path: Path) -> bool:
    name = path.name.lstrip(".").split(".")[0]
    return len(name) == hashlib.sha256().digest_size * 2 and set(name) <= set("0123456789abcdef")


def _statement(text: bytes, source: str) -> dict[str, Any]:
    """Read the statement; it is signed, but another version of muster may have written it."""
    try:
        found = json.loads(text)
        return {
            "stack": str(found["stack"]),
            "bundle": str(found["bundle"]),
            "size": int(found["size"]),
            "sequence": int(found["sequence"]),
        }
    except (ValueError, KeyError, TypeError) as error:
        message = f"{source}/release.json is not a release statement: {error!r}"
        raise NotAcceptedError(message) from error


def _open(address: str) -> Any:
    """Open a file or an http(s) address."""
    if address.startswith("/"):
        return Path(address).open("rb")
    if not address.startswith(("http://", "https://", "file:///")):
        message = f"{address}: expected http://, https://, file:/// or a path"
        raise NotAcceptedError(message)
    return urllib.request.urlopen(address, timeout=_FETCH_TIMEOUT_S)  # noqa: S310 - checked above


def _fetch_small(address: str) -> bytes:
    try:
        with _open(address) as stream:
            data: bytes = stream.read(_STATEMENT_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        message = f"{address}: {error}"
        raise NotAcceptedError(message) from error
    if len(data) > _STATEMENT_BYTES:
        message = f"{address}: more than {_STATEMENT_BYTES} bytes"
        raise NotAcceptedError(message)
    return data


def _download(address: str, archive: Path, release: dict[str, Any]) -> None:
    """Bring the bundle; only the bytes that were signed get its name."""
    part, digest, came = archive.with_suffix(".part"), hashlib.sha256(), 0
    try:
        with _open(address) as stream, part.open("wb") as out:
            while chunk := stream.read(min(_CHUNK, release["size"] + 1 - came)):
                out.write(chunk)
                digest.update(chunk)
                came += len(chunk)
            out.flush()
            os.fsync(out.fileno())
    except (OSError, http.client.HTTPException) as error:
        message = f"{address}: {error}, after {came} of {release['size']} bytes"
        raise NotAcceptedError(message) from error
    if came != release["size"]:
        more = "or more " if came > release["size"] else ""
        message = f"{address}: {came} {more}bytes came, {release['size']} were signed"
        raise NotAcceptedError(message)
    if digest.hexdigest() != release["bundle"]:
        message = f"{address}: sha256 is {digest.hexdigest()}, {release['bundle']} was signed"
        raise NotAcceptedError(message)
    part.rename(archive)


def _is_archive(archive: Path, release: dict[str, Any]) -> bool:
    """Is the archive of an earlier start still what was signed?"""
    if not archive.is_file() or archive.stat().st_size != release["size"]:
        return False
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == str(release["bundle"])


def _reasons(directory: Path) -> list[str]:
    if not directory.is_dir():
        return []
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in directory.iterdir()]
    return sorted(" ".join(text.split()) for text in texts if text.strip())


def _systemctl(*arguments: str) -> None:
    subprocess.run(["systemctl", *arguments], stdin=subprocess.DEVNULL, timeout=120, check=False)


def _write(path: Path, data: bytes) -> None:
    """Write by rename, so that a kill leaves the old or the new."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.rename(path)


def main(argv: list[str]) -> int:
    """Run on this machine, or below another root; one at a time."""
    if sys.version_info < _PYTHON:
        sys.stderr.write(
            f"muster-boot: Python {_PYTHON[0]}.{_PYTHON[1]} or newer runs the bundle\n"
        )
        return 78
    places = Places(Path(argv[1] if len(argv) > 1 else "/"))
    config = json.loads(places.config.read_text(encoding="utf-8"))
    with places.lock.open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.stderr.write("muster-boot: another run is under way\n")
            return 75
        return Node(places, config).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
