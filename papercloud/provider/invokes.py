"""The SDK's look-up functions that the paper cloud answers; any other is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from papercloud.provider.account import Account, PaperError
from papercloud.provider.naming import Names, at
from papercloud.provider.schema import Schema
from papercloud.provider.values import Properties

_Answer = Callable[[Account, Mapping[str, Any]], Mapping[str, Any]]


def invoke(
    account: Account, schema: Schema, token: str, arguments: Mapping[str, Any]
) -> Properties:
    """Answer a look-up; raises PaperError where nothing fits or the function is not modelled."""
    if token not in FUNCTIONS:
        raise PaperError("the paper cloud does not model this function", where=token)
    if mistakes := schema.mistakes(token, arguments):
        raise PaperError("; ".join(mistakes), where=token)
    look_up, rename = FUNCTIONS[token]
    found = look_up(account, arguments)
    outputs = schema.outputs(token)
    read = Names(rename).properties(found, outputs, schema)
    asked = {key: value for key, value in arguments.items() if key in outputs}
    region = {"region": account.region} if "region" in outputs else {}
    return {**asked, **region, **read}


def _one(operation: str, items: str, ids: str, arn: str, filters: Mapping[str, str]) -> _Answer:
    """Find exactly one thing of EC2 by id, filters and tags, as the real functions do."""

    def look_up(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        id_argument = "id" if "id" in arguments else f"{items[0].lower()}{items[1:-1]}Id"
        request = _filtered(arguments, filters)
        if arguments.get(id_argument):
            request[ids] = [arguments[id_argument]]
        found = account.call("ec2", operation, **request)[items]
        if len(found) != 1:
            raise PaperError(f"{len(found)} of them fit, not one", where=operation)
        resource_id = str(found[0][ids.removesuffix("s")])
        name = account.arn("ec2", f"{arn}/{resource_id}")
        return {"arn": name, **found[0], "id": resource_id}

    return look_up


def _filtered(arguments: Mapping[str, Any], names: Mapping[str, str]) -> Properties:
    filters = [
        {"Name": names[key], "Values": [str(value).lower() if value in (True, False) else value]}
        for key, value in arguments.items()
        if key in names
    ]
    filters += [
        {"Name": f"tag:{key}", "Values": [value]}
        for key, value in (arguments.get("tags") or {}).items()
    ]
    filters += [
        {"Name": own["name"], "Values": own["values"]} for own in arguments.get("filters") or []
    ]
    return {"Filters": filters} if filters else {}


def _vpc(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    names = {"cidrBlock": "cidr", "default": "is-default", "state": "state"}
    found = dict(_one("DescribeVpcs", "Vpcs", "VpcIds", "vpc", names)(account, arguments))
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        found |= account.call("ec2", "DescribeVpcAttribute", VpcId=found["id"], Attribute=attribute)
    main = [
        {"Name": "vpc-id", "Values": [found["id"]]},
        {"Name": "association.main", "Values": ["true"]},
    ]
    tables = account.call("ec2", "DescribeRouteTables", Filters=main)["RouteTables"]
    return {**found, "mainRouteTableId": at(tables, "0.RouteTableId")}


def _route_tables(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    request = _filtered(arguments, {"vpcId": "vpc-id"})
    tables = account.call("ec2", "DescribeRouteTables", **request)["RouteTables"]
    return {"id": account.region, "ids": [table["RouteTableId"] for table in tables]}


def _ami(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    request = _filtered(arguments, {})
    if arguments.get("owners"):
        request["Owners"] = arguments["owners"]
    images = account.call("ec2", "DescribeImages", **request)["Images"]
    if not images or (len(images) > 1 and not arguments.get("mostRecent")):
        raise PaperError(f"{len(images)} images fit, not one", where="aws:ec2/getAmi:getAmi")
    image = max(images, key=lambda found: found.get("CreationDate", ""))
    return {**image, "id": image["ImageId"], "arn": account.arn("ec2", f"image/{image['ImageId']}")}


def _zones(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    request = _filtered(arguments, {"state": "state"})
    zones = account.call("ec2", "DescribeAvailabilityZones", **request)["AvailabilityZones"]
    zones = [
        zone
        for zone in zones
        if zone["ZoneName"] not in (arguments.get("excludeNames") or [])
        and zone["ZoneId"] not in (arguments.get("excludeZoneIds") or [])
    ]
    return {
        "id": account.region,
        "names": [zone["ZoneName"] for zone in zones],
        "zoneIds": [zone["ZoneId"] for zone in zones],
        "groupNames": sorted({zone["GroupName"] for zone in zones if "GroupName" in zone}),
    }


def _zone(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    names = {"name": "zone-name", "zoneId": "zone-id", "state": "state"}
    request = _filtered(arguments, names)
    zones = account.call("ec2", "DescribeAvailabilityZones", **request)["AvailabilityZones"]
    if len(zones) != 1:
        raise PaperError(f"{len(zones)} zones fit, not one", where="getAvailabilityZone")
    return {
        **zones[0],
        "id": zones[0]["ZoneName"],
        "name": zones[0]["ZoneName"],
        "nameSuffix": zones[0]["ZoneName"].removeprefix(account.region),
    }


def _identity(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    del arguments
    found = account.call("sts", "GetCallerIdentity")
    return {"id": found["Account"], "accountId": found["Account"], **found}


def _partition(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    del account, arguments
    return {
        "id": "aws",
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
    }


def _region(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    name = arguments.get("region") or arguments.get("name") or account.region
    return {
        "id": name,
        "name": name,
        "region": name,
        "description": name,
        "endpoint": f"ec2.{name}.amazonaws.com",
    }


def _parameter(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    is_open = arguments.get("withDecryption", True)
    name = arguments["name"]
    found = account.call("ssm", "GetParameter", Name=name, WithDecryption=is_open)["Parameter"]
    return {**found, "id": name, "insecureValue": found["Value"]}


def _instance_type(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    name = arguments["instanceType"]
    types = account.call("ec2", "DescribeInstanceTypes", InstanceTypes=[name])["InstanceTypes"]
    found = types[0]
    return {
        "id": name,
        "instanceType": name,
        "defaultVcpus": at(found, "VCpuInfo.DefaultVCpus"),
        "memorySize": at(found, "MemoryInfo.SizeInMiB"),
        "efaSupported": bool(at(found, "NetworkInfo.EfaSupported")),
        "efaMaximumInterfaces": at(found, "NetworkInfo.EfaInfo.MaximumEfaInterfaces"),
        "maximumNetworkCards": at(found, "NetworkInfo.MaximumNetworkCards"),
        "supportedArchitectures": at(found, "ProcessorInfo.SupportedArchitectures"),
    }


def _efs(account: Account, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    by = {"fileSystemId": "FileSystemId", "creationToken": "CreationToken"}
    request = {by[key]: value for key, value in arguments.items() if key in by}
    found = account.call("efs", "DescribeFileSystems", **request)["FileSystems"]
    if len(found) != 1:
        raise PaperError(f"{len(found)} file systems fit, not one", where="efs:getFileSystem")
    name = found[0]["FileSystemId"]
    return {**found[0], "id": name, "dnsName": f"{name}.efs.{account.region}.amazonaws.com"}


_SUBNET_FILTERS: Final = {
    "availabilityZone": "availability-zone",
    "availabilityZoneId": "availability-zone-id",
    "cidrBlock": "cidr-block",
    "defaultForAz": "default-for-az",
    "state": "state",
    "vpcId": "vpc-id",
}
_TABLE_FILTERS: Final = {"vpcId": "vpc-id", "subnetId": "association.subnet-id"}

FUNCTIONS: Final[Mapping[str, tuple[_Answer, Mapping[str, str]]]] = {
    "aws:ec2/getAmi:getAmi": (_ami, {"blockDeviceMappings<": "none", "productCodes<": "none"}),
    "aws:ec2/getInstanceType:getInstanceType": (_instance_type, {}),
    "aws:ec2/getInternetGateway:getInternetGateway": (
        _one(
            "DescribeInternetGateways",
            "InternetGateways",
            "InternetGatewayIds",
            "internet-gateway",
            {},
        ),
        {},
    ),
    "aws:ec2/getRouteTable:getRouteTable": (
        _one("DescribeRouteTables", "RouteTables", "RouteTableIds", "route-table", _TABLE_FILTERS),
        {"routes.cidrBlock<": "DestinationCidrBlock"},
    ),
    "aws:ec2/getRouteTables:getRouteTables": (_route_tables, {}),
    "aws:ec2/getSubnet:getSubnet": (
        _one("DescribeSubnets", "Subnets", "SubnetIds", "subnet", _SUBNET_FILTERS),
        {"arn<": "SubnetArn|arn"},
    ),
    "aws:ec2/getVpc:getVpc": (_vpc, {}),
    "aws:efs/getFileSystem:getFileSystem": (
        _efs,
        {"arn<": "FileSystemArn", "sizeInBytes<": "none"},
    ),
    "aws:index/getAvailabilityZone:getAvailabilityZone": (_zone, {}),
    "aws:index/getAvailabilityZones:getAvailabilityZones": (_zones, {}),
    "aws:index/getCallerIdentity:getCallerIdentity": (_identity, {}),
    "aws:index/getPartition:getPartition": (_partition, {}),
    "aws:index/getRegion:getRegion": (_region, {}),
    "aws:ssm/getParameter:getParameter": (_parameter, {}),
}
