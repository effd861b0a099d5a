"""The lab stack: image, network, nodes, then converge and accept."""

from __future__ import annotations

from typing import Any

import pulumi

from muster.catalog import Catalog
from muster.converge.digest import content_digests
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.lab.image import recipe_digest
from muster.lab.model import HEAD_NAME, NodeWish
from muster.plan.lab import LabPlan, plan_lab
from muster.provider.resources import (
    Acceptance,
    AcceptanceArgs,
    Convergence,
    ConvergenceArgs,
    LabImage,
    LabImageArgs,
    LabNetwork,
    LabNetworkArgs,
    LabNode,
    LabNodeArgs,
)
from muster.spec import ClusterSpec


def build(spec: ClusterSpec, catalog: Catalog, stack: str) -> dict[str, Any]:
    """Create the lab's resources as far as the spec's stages say; returns the outputs."""
    plan = plan_lab(spec, catalog, stack)
    nodes, network = _infrastructure(plan)
    fleet = _fleet(plan, stack, nodes, network, catalog, software=spec.software or "")
    outputs: dict[str, Any] = {
        "fleet": {name: node.output("address") for name, node in nodes.items()},
        "head": nodes[HEAD_NAME].output("address"),
        "ssh": f"muster ssh {stack} {HEAD_NAME}",
        "hourlyUsd": 0,
    }
    if "converge" not in spec.stages:
        return outputs
    convergence = Convergence(
        "convergence",
        ConvergenceArgs(
            stack=stack,
            fleet=fleet,
            boots={node.name: nodes[node.name].output("bootId") for node in plan.nodes},
            contents=content_digests(),
        ),
    )
    if "accept" not in spec.stages:
        return outputs
    acceptance = Acceptance(
        "acceptance",
        AcceptanceArgs(
            stack=stack,
            fleet=fleet,
            wanted=spec.wanted,
            policy=spec.acceptance.model_dump(mode="json", by_alias=True)["policy"],
            waivers=[w.model_dump(mode="json", by_alias=True) for w in spec.acceptance.waivers],
            converged=convergence.output("stamp"),
        ),
    )
    return {
        **outputs,
        "ready": acceptance.output("ready"),
        "readiness": acceptance.output("readiness"),
        "report": acceptance.output("report"),
    }


def _infrastructure(plan: LabPlan) -> tuple[dict[str, LabNode], LabNetwork]:
    image = LabImage("image", LabImageArgs(recipe=recipe_digest()))
    wish = plan.network
    network = LabNetwork(
        "network",
        LabNetworkArgs(
            lab=wish.lab,
            rails=wish.rails,
            rail_rate_mbit=wish.rail_rate_mbit,
            uplink_rate_mbit=wish.uplink_rate_mbit,
            leaves=[{"name": name, "nodes": list(nodes)} for name, nodes in wish.leaves.items()],
        ),
    )
    nodes = {node.name: _node(node, image, network) for node in plan.nodes}
    return nodes, network


def _node(wish: NodeWish, image: LabImage, network: LabNetwork) -> LabNode:
    args = LabNodeArgs(
        lab=wish.lab,
        name=wish.name,
        pool=wish.pool,
        type=wish.type,
        ordinal=wish.ordinal,
        leaf=wish.leaf,
        gpu_count=wish.gpu_count,
        gpu_model=wish.gpu_model,
        gpu_memory_mib=wish.gpu_memory_mib,
        image=image.output("recipe"),
        image_path=image.output("path"),
        management_cidr=network.output("managementCidr"),
    )
    return LabNode(wish.name, args)


def _fleet(
    plan: LabPlan,
    stack: str,
    nodes: dict[str, LabNode],
    network: LabNetwork,
    catalog: Catalog,
    *,
    software: str,
) -> pulumi.Output[dict[str, Any]]:
    facts = {
        name: {key: node.output(key) for key in ("serial", "address", "hostKey", "railAddresses")}
        for name, node in nodes.items()
    }
    access = {key: network.output(key) for key in ("sshKeyFile", "knownHostsFile")}

    def assemble(found: dict[str, Any]) -> dict[str, Any]:
        made = {w.name: _fleet_node(w, found["nodes"][w.name], catalog) for w in plan.nodes}
        fleet = Fleet(
            stack=stack,
            target="lab",
            ssh=SshAccess(
                key_file=found["access"]["sshKeyFile"],
                known_hosts_file=found["access"]["knownHostsFile"],
            ),
            head=made[HEAD_NAME],
            nodes=tuple(node for name, node in made.items() if name != HEAD_NAME),
            software=software,
        )
        return fleet.model_dump(mode="json", by_alias=True)

    return pulumi.Output.from_input({"nodes": facts, "access": access}).apply(assemble)


def _fleet_node(wish: NodeWish, found: dict[str, Any], catalog: Catalog) -> Node:
    interfaces = catalog.instance_type(wish.type).rails if wish.leaf else ()
    return Node(
        name=wish.name,
        serial=found["serial"],
        pool=wish.pool,
        type=wish.type,
        address=found["address"],
        host_key=found["hostKey"],
        leaf=wish.leaf,
        rails=tuple(
            Rail(index=index, interface=rail.interface or f"rail{index}", address=address)
            for index, (rail, address) in enumerate(
                zip(interfaces, found["railAddresses"], strict=True)
            )
        ),
    )
