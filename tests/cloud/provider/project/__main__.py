"""A network, a placement group, a launch template, a group, a file system."""

import pulumi
import pulumi_aws as aws

config = pulumi.Config()
nodes = config.get_int("nodes") or 2
capacity = config.get_int("capacity") or 4800
strategy = config.get("strategy") or "cluster"

here = aws.get_region()
image = config.require("image")
provider = aws.Provider("us", region="us-east-2", default_tags={"tags": {"cost": "train"}})
with_provider = pulumi.ResourceOptions(provider=provider)

vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, opts=with_provider)
subnet = aws.ec2.Subnet(
    "gpu",
    vpc_id=vpc.id,
    cidr_block="10.0.0.0/18",
    availability_zone_id="use2-az1",
    opts=with_provider,
)
group = aws.ec2.SecurityGroup("efa", vpc_id=vpc.id, description="efa", opts=with_provider)
for name, kind in (
    ("in", aws.vpc.SecurityGroupIngressRule),
    ("out", aws.vpc.SecurityGroupEgressRule),
):
    kind(
        name,
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        opts=with_provider,
    )
placement = aws.ec2.PlacementGroup("near", strategy=strategy, opts=with_provider)
template = aws.ec2.LaunchTemplate(
    "node",
    image_id=image,
    instance_type="m7i.4xlarge",
    placement={"group_name": placement.name},
    network_interfaces=[{"device_index": 0, "security_groups": [group.id]}],
    metadata_options={"http_tokens": "required"},
    user_data=pulumi.Output.secret("c2VjcmV0LWJvb3QK"),
    update_default_version=True,
    opts=with_provider,
)
pool = aws.autoscaling.Group(
    "train",
    min_size=0,
    max_size=nodes,
    desired_capacity=nodes,
    vpc_zone_identifiers=[subnet.id],
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
    wait_for_capacity_timeout="3s",
    force_delete=True,
    opts=with_provider,
)
store = aws.fsx.LustreFileSystem(
    "fsx",
    subnet_ids=subnet.id,
    security_group_ids=[group.id],
    deployment_type="PERSISTENT_2",
    storage_type="SSD",
    storage_capacity=capacity,
    per_unit_storage_throughput=1000,
    data_compression_type="LZ4",
    opts=with_provider,
)
pulumi.export("region", here.region)
pulumi.export("group", pool.name)
pulumi.export("vpc", vpc.id)
pulumi.export("tags", vpc.tags_all)
pulumi.export("fsx", store.id)
pulumi.export("rule", group.id)
