"""The network: a VPC and subnet, new or existing, a way out, and who may talk to whom."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from muster.catalog.quotas import load_quotas
from muster.errors import UsageError
from muster.plan.aws.model import NetworkPlan
from stacks.aws.existing import look
from stacks.aws.place import Place
from stacks.aws.traffic import Group, Ports, let_flow, let_in, let_out, new_group

_WHERE = "muster:cluster.network"
_HTTPS = Ports(protocol="tcp", first=443, last=443)
_SSH = Ports(protocol="tcp", first=22, last=22)


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """`ssh_from` lists the private ranges that may log in; none where Session Manager is used."""

    place: Place
    plan: NetworkPlan
    ssh_from: tuple[str, ...] = ()


class Network(pulumi.ComponentResource):
    """Where the nodes stand."""

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:Network", name, {}, opts)
        self._args, self.place, self._plan = args, args.place, args.plan
        self._child = pulumi.ResourceOptions(parent=self)
        self._ask = pulumi.InvokeOptions(parent=self)
        self.vpc_id: pulumi.Input[str] = self._plan.vpc_id or self._vpc()
        self.subnet_id: pulumi.Output[str] = (
            self._existing_subnet(self._plan.subnet_id) if self._plan.subnet_id else self._subnet()
        )
        self.control_subnet_id = self._control_subnet()
        self.nodes = self._nodes()
        if self._plan.internet == "endpoints":
            self._endpoints()
        self.register_outputs({"vpcId": self.vpc_id, "subnetId": self.subnet_id})

    def _vpc(self) -> pulumi.Output[str]:
        name = self.place.name("vpc")
        vpc = aws.ec2.Vpc(
            name,
            cidr_block=self._plan.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self.place.tagged(name),
            opts=self._child,
        )
        made: pulumi.Output[str] = vpc.id
        return made

    def _existing_subnet(self, subnet_id: str) -> pulumi.Output[str]:
        """Look at the subnet: nodes, reservation and file systems must be in the zone named."""
        where = f"{_WHERE}.subnetId"
        found = look(aws.ec2.get_subnet, f"subnet {subnet_id}", where, self._ask, id=subnet_id)
        zone_id, vpc_id = self._plan.zone_id, self._plan.vpc_id
        _refuse(subnet_id, "zone", found.availability_zone_id, zone_id, "zoneId")
        _refuse(subnet_id, "VPC", found.vpc_id, vpc_id or found.vpc_id, "vpcId")
        return pulumi.Output.from_input(subnet_id)

    def _subnet(self) -> pulumi.Output[str]:
        """Make the private subnet with its routes: S3 directly, the rest as the plan says."""
        subnet = self._new_subnet("private", self._plan.private_cidr)
        routes = self._routes("private", subnet)
        aws.ec2.VpcEndpoint(
            self.place.name("s3"),
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{self.place.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[routes.id],
            tags=self.place.tagged(self.place.name("s3")),
            opts=self._child,
        )
        if self._plan.public_cidr:
            self._route_out("nat", routes, nat_gateway_id=self._nat(self._plan.public_cidr))
        made: pulumi.Output[str] = subnet.id
        return made

    def _new_subnet(self, word: str, cidr: str, zone_id: str = "") -> aws.ec2.Subnet:
        name = self.place.name(word)
        return aws.ec2.Subnet(
            name,
            vpc_id=self.vpc_id,
            cidr_block=cidr,
            availability_zone_id=zone_id or self._plan.zone_id,
            map_public_ip_on_launch=False,
            tags=self.place.tagged(name),
            opts=self._child,
        )

    def _routes(self, word: str, subnet: aws.ec2.Subnet) -> aws.ec2.RouteTable:
        name = self.place.name(word)
        routes = aws.ec2.RouteTable(
            name, vpc_id=self.vpc_id, tags=self.place.tagged(name), opts=self._child
        )
        aws.ec2.RouteTableAssociation(
            name, subnet_id=subnet.id, route_table_id=routes.id, opts=self._child
        )
        return routes

    def _route_out(
        self, word: str, routes: aws.ec2.RouteTable, **through: pulumi.Input[str]
    ) -> None:
        aws.ec2.Route(
            self.place.name(word),
            route_table_id=routes.id,
            destination_cidr_block="0.0.0.0/0",
            opts=self._child,
            **through,
        )

    def _nat(self, cidr: str) -> pulumi.Output[str]:
        subnet = self._new_subnet("public", cidr)
        routes = self._routes("public", subnet)
        self._route_out("internet", routes, gateway_id=self._gateway())
        name = self.place.name("nat")
        address = aws.ec2.Eip(name, domain="vpc", tags=self.place.tagged(name), opts=self._child)
        gateway = aws.ec2.NatGateway(
            name,
            subnet_id=subnet.id,
            allocation_id=address.allocation_id,
            tags=self.place.tagged(name),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[routes]),
        )
        made: pulumi.Output[str] = gateway.id
        return made

    def _gateway(self) -> pulumi.Output[str]:
        """Make the way to the internet; an existing VPC has one already, and cannot have two."""
        if self._plan.vpc_id:
            of_vpc = [{"name": "attachment.vpc-id", "values": [self._plan.vpc_id]}]
            what = f"the internet gateway of {self._plan.vpc_id}"
            where = f"{_WHERE}.vpcId"
            found = look(aws.ec2.get_internet_gateway, what, where, self._ask, filters=of_vpc)
            return pulumi.Output.from_input(str(found.internet_gateway_id))
        name = self.place.name("internet")
        gateway = aws.ec2.InternetGateway(
            name, vpc_id=self.vpc_id, tags=self.place.tagged(name), opts=self._child
        )
        made: pulumi.Output[str] = gateway.id
        return made

    def _control_subnet(self) -> pulumi.Output[str] | None:
        """Make the subnet in a second zone that EKS wants for its own interfaces."""
        if self._plan.control_cidr is None:
            return None
        zones = look(
            aws.get_availability_zones,
            "the region's zones",
            f"{_WHERE}.zoneId",
            self._ask,
            state="available",
            exclude_zone_ids=[self._plan.zone_id],
            filters=[{"name": "zone-type", "values": ["availability-zone"]}],
        )
        if not zones.zone_ids:
            what = f"the region has no zone beside {self._plan.zone_id}, and EKS needs two"
            raise UsageError(what, where=f"{_WHERE}.zoneId", hint="Use another region.")
        # The first by its id, whatever order AWS answers in: another zone is another subnet.
        subnet = self._new_subnet("control", self._plan.control_cidr, min(zones.zone_ids))
        made: pulumi.Output[str] = subnet.id
        return made

    def _nodes(self) -> Group:
        """Make the nodes' group: EFA asks for a rule to itself both ways, beside the one out."""
        about = "nodes: everything among themselves"
        nodes = new_group(self.place, "nodes", about, self.vpc_id, self._child)
        let_flow(self.place, nodes, nodes, [Ports()], self._child)
        let_out(self.place, nodes, self._child)
        for cidr in self._args.ssh_from:
            let_in(self.place, nodes, cidr, _SSH, self._child)
        return nodes

    def _endpoints(self) -> None:
        about = "endpoints of AWS services"
        group = new_group(self.place, "endpoints", about, self.vpc_id, self._child)
        let_flow(self.place, self.nodes, group, [_HTTPS], self._child)
        for service in load_quotas().endpoints.services:
            name = self.place.name(service)
            aws.ec2.VpcEndpoint(
                name,
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{self.place.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[self.subnet_id],
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags=self.place.tagged(name),
                opts=self._child,
            )


def _refuse(subnet: str, kind: str, found: str, wanted: str, key: str) -> None:
    if found != wanted:
        hint = f"Name the {kind} that the subnet is in, or another subnet."
        what = f"{subnet} is in {kind} {found}, not {wanted}"
        raise UsageError(what, where=f"{_WHERE}.{key}", hint=hint)
