# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read which way a BeeGFS client talks to its storage servers."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: beegfs_connections
short_description: Checks the connections of a BeeGFS client
options:
  rdma:
    description: Whether every connection has to be RDMA.
    type: bool
    required: true
  path:
    description: Where the file system is mounted; it is asked first, so that servers are connected.
    type: path
    required: true
  procfs:
    description: Where /proc is.
    type: path
    default: /proc
author: muster
"""

EXAMPLES = r"""
- name: Check the connections
  beegfs_connections:
    rdma: true
    path: /mnt/beegfs
"""

RETURN = r"""
servers:
  description: How many storage servers the client knows.
  returned: always
  type: int
"""


def parse(text: str) -> dict[str, str]:
    """Read storage_nodes of /proc/fs/beegfs: connections by server; empty where it says none."""
    found: dict[str, str] = {}
    server = ""
    for line in text.splitlines():
        heading = re.match(r"^(\S.*\[ID: \d+\])", line)
        server = heading[1] if heading else server
        if heading:
            found[server] = ""
        elif server and "Connections:" in line:
            found[server] = line.partition("Connections:")[2].strip()
    return found


def faults(servers: dict[str, str], *, rdma: bool) -> list[str]:
    """Say which servers are not connected as they have to be."""
    if not any(re.search(r"\b(RDMA|TCP|SDP): [1-9]\d* \(.+\)", line) for line in servers.values()):
        return ["no storage server is connected"]
    if not rdma:
        return []
    return [
        f"storage server {name} is connected by {line.rstrip('; ')}, RDMA expected"
        for name, line in sorted(servers.items())
        if re.search(r"\b(TCP|SDP): [1-9]", line)
    ]


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "rdma": {"type": "bool", "required": True},
            "path": {"type": "path", "required": True},
            "procfs": {"type": "path", "default": "/proc"},
        },
        supports_check_mode=True,
    )
    given = module.params
    module.run_command(["timeout", "--kill-after=5", "20", "stat", "--file-system", given["path"]])
    files = sorted(Path(given["procfs"]).glob("fs/beegfs/*/storage_nodes"))
    servers: dict[str, str] = {}
    try:
        for path in files:
            servers |= parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        module.fail_json(msg=str(error))
    said = faults(servers, rdma=given["rdma"])
    if said:
        module.fail_json(msg="; ".join(said))
    module.exit_json(changed=False, servers=len(servers))


if __name__ == "__main__":
    main()
