"""The ssh options by which every connection of ours reaches a node, and knows it. Pure."""

from __future__ import annotations

import shlex

from muster.fleet import Node, SshAccess

_SESSION = (
    "aws ssm start-session --target %h --document-name AWS-StartSSHSession"
    " --parameters portNumber=%p --region {region}"
)
"""What AWS documents for ssh through Session Manager; ssh fills in %h and %p."""


def node_options(access: SshAccess, node: Node) -> dict[str, str]:
    """Return the options that depend on the fleet and the node, by ssh_config(5) name."""
    options = {"UserKnownHostsFile": access.known_hosts_file}
    if access.known_by == "serial":
        options["HostKeyAlias"] = node.serial
    if access.via == "sessionManager":
        options["ProxyCommand"] = _SESSION.format(region=access.region)
    return options


def flags(options: dict[str, str]) -> list[str]:
    """Write options as arguments of ssh."""
    return [part for key, value in options.items() for part in ("-o", f"{key}={value}")]


def as_root(access: SshAccess, command: str) -> str:
    """Return the shell command line that runs `command` with root's rights."""
    if access.user == "root":
        return command
    return shlex.join(["sudo", "-n", "--", "sh", "-c", command])
