"""What secrets look like: the written forms of keys and tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FORMS = {
    "a private key": re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----"),
    "an AWS access key": re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an AWS secret key": re.compile(
        r"(?i)secret_?-?access_?-?key\W{0,5}[:=]\W{0,3}[A-Za-z0-9/+]{40}\b"
    ),
    "a token of GitHub": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{22,}"),
    "a token of GitLab": re.compile(r"\bglpat-[\w-]{20,}"),
    "a token of Slack": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a token of Hugging Face": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "a key of NVIDIA NGC": re.compile(r"\bnvapi-[\w-]{40,}"),
    "a JSON web token": re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    "a password": re.compile(
        r"(?i)\b[\w-]*(password|passwd|secret|api_?key|auth_?token)[\"']?\s*[:=]\s*[\"']?[^\s\"'$<{]{8,}"
    ),
}


def secrets_in(text: str) -> Iterator[str]:
    """Name the secrets that a text holds, never the text itself."""
    for name, form in _FORMS.items():
        if form.search(text):
            yield name
