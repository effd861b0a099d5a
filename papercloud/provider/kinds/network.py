"""VPC, subnets, gateways, routes, endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import EC2_TAGS, Call, Kind, Ready
from papercloud.provider.naming import match
from papercloud.provider.schema import Schema
from papercloud.provider.values import Properties


@dataclass(frozen=True, kw_only=True)
class Ec2Kind(Kind):
    """An EC2 resource whose ARN is made of its id."""

    arn_type: str = ""

    def outputs(
        self,
        account: Account,
        resource_id: str,
        found: Mapping[str, Any],
        kinds: Mapping[str, Any],
        schema: Schema,
    ) -> Properties:
        """Add the ARN, which EC2 does not answer; no tags is an empty mapping."""
        read: Properties = {"tags": {}} if "tags" in kinds else {}
        read |= super().outputs(account, resource_id, found, kinds, schema)
        if self.arn_type and "arn" in kinds:
            read.setdefault("arn", account.arn("ec2", f"{self.arn_type}/{resource_id}"))
        return read


@dataclass(frozen=True, kw_only=True)
class InternetGateway(Ec2Kind):
    """Made and attached in two steps."""

    def written_apart(self) -> frozenset[str]:
        """The attachment is an operation of its own."""
        return frozenset({"vpcId"})

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Attach it, unless it is."""
        found = self.find(account, resource_id, {}) or {}
        if inputs.get("vpcId") and not found.get("Attachments"):
            vpc = inputs["vpcId"]
            account.call("ec2", "AttachInternetGateway", InternetGatewayId=resource_id, VpcId=vpc)

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Detach, then delete."""
        if vpc := state.get("vpcId"):
            account.call("ec2", "DetachInternetGateway", InternetGatewayId=resource_id, VpcId=vpc)
        super().delete(account, resource_id, state)


@dataclass(frozen=True, kw_only=True)
class Route(Kind):
    """A line of a route table; it has no id of its own."""

    def create(self, account: Account, inputs: Properties) -> str:
        """Add the line; the id names table and destination."""
        account.call("ec2", "CreateRoute", **self.request(account, inputs))
        return f"r-{inputs['routeTableId']}_{_destination(inputs)}"

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Look for the destination in its table."""
        table_id, destination = resource_id.removeprefix("r-").split("_", 1)
        table = super().find(account, table_id, state)
        for route in (table or {}).get("Routes", []):
            ways = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
            if destination in [route.get(way) for way in ways]:
                return {**route, "RouteTableId": table_id}
        return None

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Point the destination elsewhere."""
        del resource_id, state
        if changed:
            account.call("ec2", "ReplaceRoute", **self.request(account, inputs))

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take the line out."""
        del resource_id
        where = ("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock")
        shape = account.model("ec2", "DeleteRoute").input_shape
        named = {key: state[key] for key in where if state.get(key)}
        account.call("ec2", "DeleteRoute", **self.names.request(named, shape))


@dataclass(frozen=True, kw_only=True)
class RouteTable(Ec2Kind):
    """A route table, with its routes where the program gives them inline."""

    def written_apart(self) -> frozenset[str]:
        """Each inline route is an operation of its own."""
        return frozenset({"routes"})

    def carries(self, account: Account, key: str) -> bool:
        """Inline routes change in place."""
        return key == "routes" or super().carries(account, key)

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Add the inline routes that are not there."""
        if inputs.get("routes"):
            self._route(account, resource_id, inputs["routes"])

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Make the routes be those of the program."""
        del state
        if "routes" in changed:
            self._route(account, resource_id, inputs["routes"])

    def outputs(
        self,
        account: Account,
        resource_id: str,
        found: Mapping[str, Any],
        kinds: Mapping[str, Any],
        schema: Schema,
    ) -> Properties:
        """Leave the VPC's own route out."""
        shown = [r for r in found.get("Routes", []) if r.get("Origin") == "CreateRoute"]
        found = {**found, "Routes": shown}
        return super().outputs(account, resource_id, found, kinds, schema)

    def _route(self, account: Account, table: str, wanted: list[Properties]) -> None:
        found = self.find(account, table, {}) or {}
        has = {
            route.get("DestinationCidrBlock"): route
            for route in found.get("Routes", [])
            if route.get("Origin") == "CreateRoute"
        }
        shape = account.model("ec2", "CreateRoute").input_shape
        for route in wanted:
            request = self.names.request(route, shape, "routes.")
            old = has.pop(request.get("DestinationCidrBlock"), None)
            if old is None:
                account.call("ec2", "CreateRoute", RouteTableId=table, **request)
            elif any(old.get(key) != value for key, value in request.items()):
                account.call("ec2", "ReplaceRoute", RouteTableId=table, **request)
        for destination in has:
            account.call("ec2", "DeleteRoute", RouteTableId=table, DestinationCidrBlock=destination)


@dataclass(frozen=True, kw_only=True)
class RouteTableAssociation(Kind):
    """Found inside its table."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Pick the one association out of its table's."""
        table = super().find(account, resource_id, state)
        for found in (table or {}).get("Associations", []):
            if found["RouteTableAssociationId"] == resource_id:
                return dict(found)
        return None


_LISTS: Final = frozenset({"routeTableIds", "subnetIds", "securityGroupIds"})


@dataclass(frozen=True, kw_only=True)
class VpcEndpoint(Ec2Kind):
    """Its lists change by what is added and what is removed."""

    def carries(self, account: Account, key: str) -> bool:
        """The three lists change in place."""
        return key in _LISTS or super().carries(account, key)

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Add and remove what differs from the state."""
        request: Properties = {}
        for key in _LISTS & changed:
            name = match(key, ("RouteTableIds", "SubnetIds", "SecurityGroupIds"))
            old, new = set(state.get(key) or []), set(inputs.get(key) or [])
            request |= {f"Add{name}": sorted(new - old)} if new - old else {}
            request |= {f"Remove{name}": sorted(old - new)} if old - new else {}
        if request:
            account.call("ec2", "ModifyVpcEndpoint", VpcEndpointId=resource_id, **request)
        super().update(account, resource_id, inputs, changed - _LISTS, state)


def _destination(inputs: Mapping[str, Any]) -> str:
    ways = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
    return str(next(inputs[way] for way in ways if inputs.get(way)))


def _vpc_attribute(name: str) -> Call:
    return Call(operation="DescribeVpcAttribute", by="VpcId", fixed={"Attribute": name})


_VPC_ATTRIBUTES: Final = ("enableDnsSupport", "enableDnsHostnames")
_MODIFY_SUBNET: Final = Call(operation="ModifySubnetAttribute", by="SubnetId")

NETWORK: Final[Mapping[str, Kind]] = {
    "aws:ec2/vpc:Vpc": Ec2Kind(
        service="ec2",
        create_by=Call(operation="CreateVpc", found="Vpc.VpcId"),
        find_by=Call(operation="DescribeVpcs", by="VpcIds", found="Vpcs.0"),
        also_find=tuple(_vpc_attribute(name) for name in _VPC_ATTRIBUTES),
        end_by=Call(operation="DeleteVpc", by="VpcId"),
        set_by={name: Call(operation="ModifyVpcAttribute", by="VpcId") for name in _VPC_ATTRIBUTES},
        tag_type="vpc",
        tagging=EC2_TAGS,
        arn_type="vpc",
    ),
    "aws:ec2/subnet:Subnet": Ec2Kind(
        service="ec2",
        create_by=Call(operation="CreateSubnet", found="Subnet.SubnetId"),
        find_by=Call(operation="DescribeSubnets", by="SubnetIds", found="Subnets.0"),
        end_by=Call(operation="DeleteSubnet", by="SubnetId"),
        set_by={"mapPublicIpOnLaunch": _MODIFY_SUBNET},
        rename={"arn<": "SubnetArn"},
        tag_type="subnet",
        tagging=EC2_TAGS,
    ),
    "aws:ec2/internetGateway:InternetGateway": InternetGateway(
        service="ec2",
        create_by=Call(
            operation="CreateInternetGateway", found="InternetGateway.InternetGatewayId"
        ),
        find_by=Call(
            operation="DescribeInternetGateways",
            by="InternetGatewayIds",
            found="InternetGateways.0",
        ),
        end_by=Call(operation="DeleteInternetGateway", by="InternetGatewayId"),
        rename={"vpcId<": "Attachments.0.VpcId"},
        tag_type="internet-gateway",
        tagging=EC2_TAGS,
        arn_type="internet-gateway",
    ),
    "aws:ec2/eip:Eip": Ec2Kind(
        service="ec2",
        create_by=Call(operation="AllocateAddress", found="AllocationId"),
        find_by=Call(operation="DescribeAddresses", by="AllocationIds", found="Addresses.0"),
        end_by=Call(operation="ReleaseAddress", by="AllocationId"),
        rename={"privateIp<": "PrivateIpAddress"},
        tag_type="elastic-ip",
        tagging=EC2_TAGS,
        arn_type="elastic-ip",
    ),
    "aws:ec2/natGateway:NatGateway": Ec2Kind(
        service="ec2",
        create_by=Call(operation="CreateNatGateway", found="NatGateway.NatGatewayId"),
        find_by=Call(operation="DescribeNatGateways", by="NatGatewayIds", found="NatGateways.0"),
        end_by=Call(operation="DeleteNatGateway", by="NatGatewayId"),
        rename={
            "allocationId<": "NatGatewayAddresses.0.AllocationId",
            "associationId<": "NatGatewayAddresses.0.AssociationId",
            "networkInterfaceId<": "NatGatewayAddresses.0.NetworkInterfaceId",
            "privateIp<": "NatGatewayAddresses.0.PrivateIp",
            "publicIp<": "NatGatewayAddresses.0.PublicIp",
            "privateIp>": "PrivateIpAddress",
        },
        tag_type="natgateway",
        tagging=EC2_TAGS,
        ready=Ready(path="State", good=("available",), bad=("failed",), dead=("deleted",)),
        ends_slowly=True,
    ),
    "aws:ec2/routeTable:RouteTable": RouteTable(
        service="ec2",
        create_by=Call(operation="CreateRouteTable", found="RouteTable.RouteTableId"),
        find_by=Call(operation="DescribeRouteTables", by="RouteTableIds", found="RouteTables.0"),
        end_by=Call(operation="DeleteRouteTable", by="RouteTableId"),
        rename={
            "routes.cidrBlock>": "DestinationCidrBlock",
            "routes.cidrBlock<": "DestinationCidrBlock",
        },
        tag_type="route-table",
        tagging=EC2_TAGS,
        arn_type="route-table",
    ),
    "aws:ec2/route:Route": Route(
        service="ec2",
        create_by=Call(operation="CreateRoute"),
        find_by=Call(operation="DescribeRouteTables", by="RouteTableIds", found="RouteTables.0"),
        end_by=None,
        update_by=(Call(operation="ReplaceRoute", by="RouteTableId"),),
        replace=frozenset(
            {
                "routeTableId",
                "destinationCidrBlock",
                "destinationIpv6CidrBlock",
                "destinationPrefixListId",
            }
        ),
        alone=True,
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": RouteTableAssociation(
        service="ec2",
        create_by=Call(operation="AssociateRouteTable", found="AssociationId"),
        find_by=Call(
            operation="DescribeRouteTables",
            by="filter:association.route-table-association-id",
            found="RouteTables.0",
        ),
        end_by=Call(operation="DisassociateRouteTable", by="AssociationId"),
        alone=True,
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": VpcEndpoint(
        service="ec2",
        create_by=Call(operation="CreateVpcEndpoint", found="VpcEndpoint.VpcEndpointId"),
        find_by=Call(operation="DescribeVpcEndpoints", by="VpcEndpointIds", found="VpcEndpoints.0"),
        end_by=Call(operation="DeleteVpcEndpoints", by="VpcEndpointIds"),
        update_by=(Call(operation="ModifyVpcEndpoint", by="VpcEndpointId"),),
        rename={"policy": "PolicyDocument", "securityGroupIds<": "Groups.*.GroupId"},
        tag_type="vpc-endpoint",
        tagging=EC2_TAGS,
        arn_type="vpc-endpoint",
        ready=Ready(
            path="State", good=("available",), bad=("failed", "rejected"), dead=("deleted",)
        ),
        ends_slowly=True,
    ),
}
