"""Clients of BeeGFS and Storage Scale: what they say of themselves, also when cut short."""

from __future__ import annotations

import pytest

from tests.unit.roles.modules import load

beegfs = load("beegfs_connections")
gpfs = load("gpfs_state")

RDMA = "storage1 [ID: 1]\n   Connections: RDMA: 2 (10.0.0.1:8003);\n"
TCP = "storage2 [ID: 2]\n   Connections: TCP: 1 (10.0.0.2:8003 [fallback route]);\n"
NONE = "storage3 [ID: 3]\n   Connections: <none>\n"
HEADER = "mmgetstate::HEADER:version:reserved:reserved:nodeName:nodeNumber:state:quorum:\n"


def test_connections_by_rdma_are_fine_and_idle_servers_too() -> None:
    assert beegfs.faults(beegfs.parse(RDMA + NONE), rdma=True) == []


def test_a_server_that_fell_back_to_tcp_is_named() -> None:
    (said,) = beegfs.faults(beegfs.parse(RDMA + TCP), rdma=True)
    assert said.startswith("storage server storage2 [ID: 2] is connected by TCP: 1")
    assert beegfs.faults(beegfs.parse(TCP), rdma=False) == []


@pytest.mark.parametrize("text", ["", NONE, RDMA[:20], RDMA[:40]])
@pytest.mark.parametrize("rdma", [True, False])
def test_no_connection_is_no_pass(text: str, rdma: bool) -> None:
    assert beegfs.faults(beegfs.parse(text), rdma=rdma) == ["no storage server is connected"]


def test_the_state_is_found_by_its_heading() -> None:
    assert gpfs.parse(f"{HEADER}mmgetstate::0:1:::node1:1:active:1:\n") == "active"
    assert gpfs.parse(f"{HEADER}mmgetstate::0:1:::node1:1:down:1:\n") == "down"


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEADER,
        "mmgetstate::0:1:::node1:1:active:1:\n",
        f"{HEADER}mmgetstate::0:1:::node1:1:act",
        f"{HEADER}mmgetstate::0:1:::a:1:active:1:\nmmgetstate::0:1:::b:2:active:1:\n",
    ],
)
def test_a_state_that_is_not_said_is_unknown(text: str) -> None:
    assert gpfs.parse(text) == "unknown"
