"""Host keys from a console: only a whole key of a whole block is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cloud.host_keys import known_hosts_text, parse_host_key, read_known_hosts
from tests.unit.cloud.aws_fleet import KEY

OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
ECDSA = (
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBARH5knJ"
    "GyCZRPJZJzd3/99TAxR9toCnhiQhy4YE8uWrSaKCq2gdyyUIfQmiHrsv3lntAEGvvaOluvvx2cuK7rw="
)


def block(*lines: str, mark: str = "") -> str:
    around = ("-----BEGIN SSH HOST KEY KEYS-----", *lines, "-----END SSH HOST KEY KEYS-----")
    return "".join(f"{mark}{line}\r\n" for line in around)


def test_the_key_is_read_with_its_comment_cut_and_whatever_stands_before_it() -> None:
    assert parse_host_key(f"kernel\n{block(f'{KEY} root@ip-10-0-0-1')}login:") == KEY
    assert parse_host_key(block(KEY, mark="[   31.4] cloud-init[1234]: ")) == KEY
    assert parse_host_key(block(KEY, mark="<14>Nov 21 09:00:01 cloud-init: ")) == KEY


def test_the_last_block_counts_as_a_boot_may_make_new_keys() -> None:
    assert parse_host_key(block(KEY) + block(OTHER)) == OTHER


def test_a_block_that_is_still_being_written_does_not_count() -> None:
    begun = f"-----BEGIN SSH HOST KEY KEYS-----\n{OTHER}\n"
    assert parse_host_key(begun) == ""
    assert parse_host_key(block(KEY) + begun) == KEY


def test_a_key_outside_of_the_block_is_not_trusted() -> None:
    assert parse_host_key(f"{OTHER}\n{block()}{OTHER}\n") == ""


@pytest.mark.parametrize("line", [KEY[:-6], KEY.replace("ssh-ed25519", "ssh-rsa"), "ssh-ed25519 x"])
def test_a_key_that_is_cut_or_of_another_kind_is_none(line: str) -> None:
    assert parse_host_key(block(line)) == ""


def test_the_newest_kind_of_key_is_taken() -> None:
    assert parse_host_key(block(ECDSA, KEY)) == KEY
    assert parse_host_key(block(ECDSA)) == ECDSA


@given(st.text())
def test_no_console_makes_the_parser_fail(text: str) -> None:
    assert parse_host_key(text) == ""
    parse_host_key(block(text))


@given(st.text(st.characters(codec="ascii"), max_size=200), st.integers(0, 2000))
def test_a_console_cut_anywhere_gives_the_key_or_none(noise: str, cut: int) -> None:
    assert parse_host_key((noise + block(KEY))[:cut]) in {"", KEY}


def test_known_hosts_are_read_back_as_written() -> None:
    keys = {"i-2": OTHER, "i-1": KEY}
    assert read_known_hosts(known_hosts_text(keys)) == keys
    assert read_known_hosts("# a comment\n\n") == {}
