"""What the paper cloud reads of an instance's user data, as cloud-init would."""

from __future__ import annotations

import pytest

from papercloud.lab_machines import root_keys

KEYS = """#cloud-config
disable_root: false
users:
  - default
  - name: root
    ssh_authorized_keys: [ssh-ed25519 AAAA a, ssh-ed25519 BBBB b]
  - name: ubuntu
    ssh_authorized_keys: [ssh-ed25519 CCCC c]
"""


def test_root_gets_the_keys_that_cloud_config_gives_to_root() -> None:
    assert root_keys(KEYS) == ("ssh-ed25519 AAAA a", "ssh-ed25519 BBBB b")


def test_keys_at_the_top_let_root_in_only_where_root_is_not_disabled() -> None:
    keys = "ssh_authorized_keys: [ssh-ed25519 DDDD d]\n"
    assert root_keys(f"#cloud-config\ndisable_root: false\n{keys}") == ("ssh-ed25519 DDDD d",)
    assert root_keys(f"#cloud-config\n{keys}") == ()


@pytest.mark.parametrize("text", ["", "#!/bin/sh\n", "#cloud-config\n", "#cloud-config\n[]\n"])
def test_other_user_data_lets_nobody_in(text: str) -> None:
    assert root_keys(text) == ()
