"""EKS on the same pools: a cluster, and a managed node group for each pool."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import yaml

from muster.catalog.aws_stack import load_aws_stack
from muster.plan.aws.model import PoolPlan
from muster.spec import Access, Kubernetes
from stacks.aws.access import ServiceRole, cloud_config, encoded, in_parts, service_role
from stacks.aws.capacity import bought, emptied_at
from stacks.aws.compute import empty_at, placement
from stacks.aws.network import Network
from stacks.aws.place import Place
from stacks.aws.template import TemplateArgs, new_template

_CAPACITY = {"spot": "SPOT", "block": "CAPACITY_BLOCK"}
"""What a node group calls a way of buying; a reservation is on demand with a target."""


@dataclass(frozen=True, kw_only=True)
class EksArgs:
    """`network` is that of the stack, with a subnet in a second zone."""

    place: Place
    wish: Kubernetes
    pools: tuple[PoolPlan, ...]
    network: Network
    access: Access | None


class Eks(pulumi.ComponentResource):
    """The cluster. Its API is reached from within the VPC only."""

    def __init__(
        self, name: str, args: EksArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:Eks", name, {}, opts)
        self._args, self._place = args, args.place
        self._child = pulumi.ResourceOptions(parent=self)
        self._policies = load_aws_stack().managed_policies
        self._cluster = self._new_cluster()
        role = service_role(
            self._place,
            self._place.name("node"),
            "ec2",
            self._policies.kubernetes_node,
            self._child,
        )
        for pool in args.pools:
            self._node_group(pool, role)
        self.endpoint: pulumi.Output[str] = self._cluster.endpoint
        self.cluster_name: pulumi.Output[str] = self._cluster.name
        self.register_outputs({"endpoint": self.endpoint, "name": self.cluster_name})

    def _new_cluster(self) -> aws.eks.Cluster:
        place, network = self._place, self._args.network
        role = service_role(
            place, place.name("eks"), "eks", self._policies.kubernetes_cluster, self._child
        )
        name = place.stack
        return aws.eks.Cluster(
            name,
            role_arn=role.resource.arn,
            version=self._args.wish.version,
            access_config={"authentication_mode": "API"},
            vpc_config={
                "subnet_ids": [network.subnet_id, network.control_subnet_id],
                "security_group_ids": [network.nodes.id],
                "endpoint_private_access": True,
                "endpoint_public_access": False,
            },
            tags=place.tagged(name),
            opts=self._after(role),
        )

    def _after(self, role: ServiceRole) -> pulumi.ResourceOptions:
        """What takes a role is made after its policies, and deleted before them."""
        return pulumi.ResourceOptions(parent=self, depends_on=role.policies)

    def _node_group(self, pool: PoolPlan, role: ServiceRole) -> None:
        name = self._place.name(pool.name)
        template = new_template(name, self._template(pool), self)
        group = aws.eks.NodeGroup(
            name,
            cluster_name=self._cluster.name,
            node_role_arn=role.resource.arn,
            subnet_ids=[self._args.network.subnet_id],
            capacity_type=_CAPACITY.get(pool.capacity.buying, "ON_DEMAND"),
            launch_template={"id": template.id, "version": template.version},
            scaling_config={"min_size": 0, "max_size": pool.size, "desired_size": pool.size},
            tags=self._place.tagged(name, pool.name),
            opts=self._after(role),
        )
        ends = emptied_at(pool)
        if ends is not None:
            scaling = group.resources.apply(lambda made: made[0].autoscaling_groups[0].name)
            empty_at(name, scaling, ends.strftime("%Y-%m-%dT%H:%M:%SZ"), self)

    def _template(self, pool: PoolPlan) -> TemplateArgs:
        """Return the instance; the node group itself says subnet, role, and spot."""
        cluster_group = self._cluster.vpc_config.cluster_security_group_id
        return TemplateArgs(
            place=self._place,
            pool=pool.name,
            type=pool.type.name,
            image=pool.image,
            root_gib=pool.root_gib,
            interfaces=pool.interfaces,
            groups=(self._args.network.nodes.id, cluster_group),
            subnet_id=None,
            user_data=self._user_data(),
            hops=load_aws_stack().metadata.kubernetes_hops,
            more={
                **placement(self._place, pool, self),
                **({} if pool.capacity.buying == "spot" else bought(pool.capacity)),
            },
        )

    def _user_data(self) -> pulumi.Output[str]:
        """Tell the node which cluster it joins: with an image of its own EKS does not."""
        cluster, access = self._cluster, self._args.access
        facts = pulumi.Output.all(
            name=cluster.name,
            apiServerEndpoint=cluster.endpoint,
            certificateAuthority=cluster.certificate_authority.data,
            cidr=cluster.kubernetes_network_config.service_ipv4_cidr,
        )

        def written(found: dict[str, str]) -> str:
            node = {
                "apiVersion": "node.eks.aws/v1alpha1",
                "kind": "NodeConfig",
                "spec": {"cluster": dict(found)},
            }
            parts = [
                ("text/cloud-config", cloud_config(access)),
                ("application/node.eks.aws", yaml.safe_dump(node, width=10_000)),
            ]
            return encoded(in_parts(parts), "muster:cluster.access.publicKeys")

        return facts.apply(written)
