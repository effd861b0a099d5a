"""Rules on what was read in the cloud: each passes, fails on its mistake, and does not know."""

from __future__ import annotations

import pytest

from muster.plan.cloud_view import Bucket, DryRun, Unread
from muster.plan.rules.model import View
from muster.plan.rules.run import ALL_RULES
from tests.unit.plan.rules import clouds
from tests.unit.plan.rules.cases import (
    FS,
    HELD,
    IMAGE,
    Change,
    block,
    existing,
    fs,
    held,
    in_vpc,
    one,
    plain,
    port,
    reserved,
    told,
    type_is,
)
from tests.unit.plan.rules.clouds import well
from tests.unit.plan.rules.views import FAIL, PASS, UNKNOWN, says

SILENT_OFFLINE = {
    "network-quotas",
    "storage-quotas",
    "network-agrees",
    "way-out",
    "fabric-group",
    "placement-agrees",
    "dry-run",
    "permissions",
}


@pytest.mark.parametrize("found", [plain(), block(), existing(), in_vpc()])
def test_where_all_is_well_in_the_cloud_every_rule_passes(found: View) -> None:
    said = {rule.id: says(ALL_RULES, rule.id, well(found)) for rule in ALL_RULES}
    wrong = {
        rule: [each.what for each in found if each.outcome is not PASS]
        for rule, found in said.items()
        if rule not in {"budget", "idle-cost", "access-given"}
    }
    assert {rule: what for rule, what in wrong.items() if what} == {}


READ = [
    ("zone-offers-types", plain()),
    ("reservation-usable", reserved()),
    ("reservation-size", reserved()),
    ("block-time", block(ends=None)),
    ("vcpu-quotas", plain()),
    ("network-quotas", plain()),
    ("storage-quotas", plain()),
    ("no-public-address", existing()),
    ("free-addresses", existing()),
    ("interface-quota", plain()),
    ("network-agrees", existing()),
    ("network-agrees", in_vpc()),
    ("way-out", existing()),
    ("fabric-group", plain()),
    ("storage-within-reach", existing()),
    ("image-fits", plain()),
    ("bucket-names", plain()),
    ("import-bucket", plain()),
    ("dry-run", plain()),
    ("permissions", plain()),
]


@pytest.mark.parametrize(("rule", "found"), READ)
def test_what_could_not_be_read_is_unknown_and_says_why_and_what_to_do(
    rule: str, found: View
) -> None:
    said = one(rule, clouds.unread(found))
    assert said.outcome is UNKNOWN
    assert "ec2:Describe is denied" in said.what
    assert "Allow ec2:Describe" in said.do


@pytest.mark.parametrize(("rule", "found"), READ)
def test_a_rule_that_needs_the_cloud_never_passes_without_it(rule: str, found: View) -> None:
    said = says(ALL_RULES, rule, found)
    assert all(each.outcome is UNKNOWN for each in said)
    assert bool(said) is (rule not in SILENT_OFFLINE)


ELSEWHERE = {"p5.48xlarge": frozenset({"use2-az2"}), "m7i.2xlarge": frozenset({"use2-az2"})}
UNOPENED = [port(988, 988), port(1018, 1022)]
MISTAKES: list[tuple[str, View, Change, str]] = [
    ("zone-offers-types", plain(), told(offers=ELSEWHERE), "Zones with all types: use2-az2."),
    ("zone-offers-types", plain(), told(offers={}), "No zone of the region has all."),
    ("reservation-usable", reserved(), told(reservations={HELD: None}), "does not exist"),
    ("reservation-usable", reserved(), held(type="p4d.24xlarge"), "is of p4d.24xlarge"),
    ("reservation-usable", reserved(), held(zone_id="use2-az2"), "is in use2-az2, not use2-az1"),
    ("reservation-usable", reserved(), held(state="expired"), "is expired"),
    ("reservation-usable", reserved(), held(block=True), "name it as block"),
    ("reservation-usable", block(), held(block=False), "is no Capacity Block"),
    ("reservation-usable", reserved(), held(tenancy="dedicated"), "dedicated tenancy"),
    ("reservation-size", reserved(spares=1), held(available=2), "2 are free and 0 run already"),
    ("block-time", block("2026-12-02T11:30Z"), held(ends=clouds.days(block(), 10)), "not 2026-12"),
    ("block-time", block(None), held(ends=clouds.days(block(), -1)), "which is past"),
    ("placement-agrees", reserved(), held(placement_group="arn:aws:ec2::p/other"), "group other"),
    ("placement-agrees", reserved(placement="spread"), held(), "spread"),
    ("sold-this-way", plain(), type_is(usage=frozenset({"spot"})), "sold as spot"),
    ("interfaces-fit-type", plain(), type_is(efa_interfaces=16), "EC2 says 16"),
    ("interfaces-fit-type", plain(), type_is(network_cards=16), "EC2 says 16"),
    ("interfaces-fit-type", plain(), type_is(strategies=frozenset()), "no cluster placement"),
    ("vcpu-quotas", plain(), told(quotas={"L-417A185B": 383.0}), "384 of 383"),
    ("network-quotas", plain(), told(quotas={"L-0263D0A3": 2.0}), "3 of 2"),
    ("storage-quotas", plain(), told(quotas={"L-8F1B9C74": 4799.0}), "4800 of 4799"),
    ("interface-quota", plain(), told(quotas={"L-DF5E4CA3": 70.0}), "of 70"),
    ("no-public-address", existing(), told(subnet=clouds.subnet(gives_public=True)), "gives its"),
    ("no-public-address", existing(), told(subnet=None), "does not exist"),
    ("free-addresses", existing(), told(subnet=clouds.subnet(free_addresses=2)), "2 are free"),
    ("free-addresses", existing(), told(subnet=None), "does not exist"),
    ("network-agrees", existing(), told(vpc=None), "does not exist in us-east-2"),
    ("network-agrees", existing(), told(subnet=None), "does not exist"),
    ("network-agrees", existing(), told(subnet=clouds.subnet(vpc_id="vpc-1")), "is in vpc-1"),
    ("network-agrees", existing(), told(subnet=clouds.subnet(zone_id="use2-az2")), "use2-az2"),
    ("network-agrees", existing(), told(vpc=clouds.vpc(dns_support=False)), "enableDnsSupport"),
    ("network-agrees", in_vpc(), told(vpc=clouds.vpc(cidrs=("10.1.0.0/16",))), "is outside of"),
    ("network-agrees", in_vpc(), told(vpc=clouds.vpc(taken={"10.0.1.0/24": False})), "overlap"),
    ("network-agrees", in_vpc(), told(vpc=clouds.vpc(internet_gateway=False)), "Attach one"),
    ("way-out", existing(), told(subnet=None), "does not exist"),
    ("way-out", existing(), told(subnet=clouds.subnet(way_out="")), "no endpoints of ec2"),
    ("way-out", existing(), told(subnet=clouds.subnet(way_out="igw-1")), "only public addresses"),
    (
        "fabric-group",
        plain(),
        told(security_groups=(clouds.fabric_group(self_out=False),)),
        "EFA is blocked",
    ),
    ("storage-within-reach", existing(), told(file_systems={FS: None}), "does not exist"),
    ("storage-within-reach", existing(), fs(kind="fsxOpenZfs"), "is fsxOpenZfs"),
    ("storage-within-reach", existing(), fs(lifecycle="deleting"), "is deleting"),
    ("storage-within-reach", existing(), fs(vpc_id="vpc-1"), "is in vpc-1"),
    ("storage-within-reach", existing(), fs(zone_ids=frozenset({"use2-az3"})), "is in use2-az3"),
    ("storage-within-reach", existing(), fs(opens=tuple(UNOPENED)), "tcp 1018-1023"),
    ("storage-within-reach", existing(), fs(opens=()), "tcp 988, tcp 1018-1023"),
    ("image-fits", plain(), told(images={IMAGE: None}), "does not exist in us-east-2"),
    ("image-fits", plain(), told(images={IMAGE: clouds.picture(arch="arm64")}), "is arm64"),
    ("image-fits", plain(), told(images={IMAGE: clouds.picture(state="failed")}), "is failed"),
    ("image-fits", plain(), told(images={IMAGE: clouds.picture(root_gib=201)}), "201 GiB"),
    (
        "bucket-names",
        plain(),
        told(buckets={"made": Bucket(region="x", own=False)}),
        "made",
    ),
    ("import-bucket", plain(), told(buckets={"bucket": None}), "does not exist"),
    (
        "import-bucket",
        plain(),
        told(buckets={"bucket": Bucket(region="us-west-2", own=False)}),
        "is in us-west-2",
    ),
    (
        "dry-run",
        plain(),
        told(dry_runs={"train": DryRun(code="InvalidParameterCombination", message="no")}),
        "InvalidParameterCombination: no",
    ),
    (
        "dry-run",
        plain(),
        told(dry_runs={"train": DryRun(code="UnauthorizedOperation", message="x")}),
        "decode-authorization-message",
    ),
    ("permissions", plain(), told(decisions={"ec2:CreateVpc": "explicitDeny"}), "ec2:CreateVpc"),
    ("access-given", plain(access=None), told(), "no access is given"),
]


@pytest.mark.parametrize(("rule", "found", "change", "words"), MISTAKES)
def test_each_mistake_fails_and_says_what_it_is_and_what_to_do(
    rule: str, found: View, change: Change, words: str
) -> None:
    said = one(rule, well(found, **change(found)))
    assert said.outcome is FAIL
    assert words in f"{said.what} {said.do}"


DOUBTS: list[tuple[str, View, Change, str]] = [
    ("permissions", plain(), told(decisions={}), "ec2:AllocateAddress"),
    ("way-out", existing(), told(subnet=clouds.subnet(way_out="vpce-1")), "way out is not known"),
    ("vcpu-quotas", reserved(), told(quotas={"L-417A185B": 100.0, "L-1216C47A": 99.0}), "on top"),
    ("placement-agrees", reserved(), held(placement_group="a/b", own_group=None), "whose it is"),
    (
        "storage-within-reach",
        existing(),
        fs(opens=Unread("ec2:DescribeSecurityGroups is denied")),
        "is denied",
    ),
]


@pytest.mark.parametrize(("rule", "found", "change", "words"), DOUBTS)
def test_what_the_cloud_leaves_open_stays_unknown(
    rule: str, found: View, change: Change, words: str
) -> None:
    said = one(rule, well(found, **change(found)))
    assert said.outcome is UNKNOWN
    assert words in said.what
