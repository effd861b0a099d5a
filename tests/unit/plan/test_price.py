"""Prices of a plan: what the catalog states is summed, what nobody states is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import Catalog, load_catalog
from muster.catalog.prices import Prices, load_prices
from muster.catalog.prices_file import RegionPrices
from muster.plan.aws.model import AwsPlan, Buying, PoolPlan
from muster.plan.price import HOURS_A_MONTH, PriceLine, PriceSheet, price_of
from muster.spec import Kubernetes
from tests.unit.plan.aws_plans import head, lustre, network, plan, pool

CATALOG = load_catalog()
KINDS = sorted(CATALOG.types_of("aws"))
WAYS: tuple[Buying, ...] = ("onDemand", "spot", "reservation", "resourceGroup", "block")


def priced(wish: AwsPlan) -> PriceSheet:
    return price_of(wish, CATALOG)


def only(wish: AwsPlan) -> PriceLine:
    (line,) = priced(wish).lines
    return line


def with_services(**services: Any) -> Prices:
    content = load_prices().model_dump()
    content["services"] = {
        name: {"region": "us-east-1", "zones": "use1", "source": "price-list", "usd_per_hour": usd}
        for name, usd in services.items()
    }
    return Prices.model_validate(content)


def test_a_pool_costs_its_on_demand_price_for_each_instance_with_spares() -> None:
    line = only(plan(pool(count=16, spares=1)))
    each = CATALOG.instance_type("p5.48xlarge").on_demand_usd_per_hour
    assert each
    assert (line.quantity, line.unit_usd_per_hour) == (17, each)
    assert line.hourly_usd == pytest.approx(17 * each)


def test_a_price_carries_its_source_and_day() -> None:
    line = only(plan(pool()))
    assert (line.source, line.as_of) == ("price-list", CATALOG.sources["price-list"].as_of)
    assert "price-list" in priced(plan(pool())).sources


def test_a_price_of_an_undated_source_has_no_day() -> None:
    line = only(plan(pool("g5.48xlarge")))
    assert line.hourly_usd
    assert line.as_of is None


@pytest.mark.parametrize("buying", ["reservation", "resourceGroup"])
def test_a_reservation_costs_its_on_demand_price_even_idle(buying: Buying) -> None:
    line = only(plan(pool(buying=buying)))
    assert line.hourly_usd == only(plan(pool())).hourly_usd
    assert "whether used or not" in line.note


def test_a_capacity_block_counts_its_share_of_an_hour_and_says_it_was_paid() -> None:
    line = only(plan(pool(buying="block", count=4)))
    each = CATALOG.instance_type("p5.48xlarge").capacity_block_usd_per_hour
    assert each
    assert line.hourly_usd == pytest.approx(4 * each)
    assert "paid up front" in line.note
    assert line.source == "capacity-block-prices"


def test_spot_is_unknown_where_the_catalog_has_no_spot_price() -> None:
    sheet = priced(plan(pool(buying="spot")))
    assert sheet.unknown == ("pool spot",)
    assert sheet.lines[0].hourly_usd is None
    assert "no source states a price" in sheet.lines[0].note


def test_spot_costs_what_the_catalog_states() -> None:
    found = CATALOG.instance_type("p5.48xlarge")
    fact = found.facts["on_demand_usd_per_hour"].model_copy(update={"value": 20.0})
    facts = {**found.facts, "spot_usd_per_hour": fact}
    kind = found.model_copy(update={"spot_usd_per_hour": 20.0, "facts": facts})
    sheet = priced(plan(replace(pool(buying="spot", count=3), type=kind)))
    assert sheet.hourly_usd == pytest.approx(60)
    assert sheet.pools[0].spot == pytest.approx(60)


def test_a_price_that_cites_no_source_is_unknown() -> None:
    kind = CATALOG.instance_type("m7i.large").model_copy(update={"on_demand_usd_per_hour": 0.1})
    sheet = priced(plan(replace(pool(), type=kind)))
    assert sheet.unknown == ("pool ondemand",)
    assert sheet.pools[0].on_demand is None


def test_a_type_that_is_not_sold_on_demand_has_no_on_demand_price() -> None:
    assert priced(plan(pool("p5e.48xlarge", "reservation"))).unknown == ("pool reservation",)


def test_a_pool_is_compared_bought_each_way() -> None:
    found = CATALOG.instance_type("p5en.48xlarge")
    (row,) = priced(plan(pool("p5en.48xlarge", count=8))).pools
    assert found.on_demand_usd_per_hour
    assert found.capacity_block_usd_per_hour
    assert row.on_demand == pytest.approx(8 * found.on_demand_usd_per_hour)
    assert row.capacity_block == pytest.approx(8 * found.capacity_block_usd_per_hour)
    assert row.spot is None
    assert row.instances == 8


def read_from_aws(
    items: dict[str, float] | None = None, *, zones: str = "use1", region: str = "us-east-1"
) -> Catalog:
    """The catalog with prices that were read from AWS."""
    row = {"source": "read", "as_of": "2026-11-21"}
    prices = RegionPrices.model_validate(
        {
            "region": region,
            "zones": zones,
            "sources": {"read": {"title": "AWS", "read": "2026-11-21", "as_of": "2026-11-21"}},
            "instances": {
                "p5.48xlarge": {
                    "on_demand": {**row, "usd": 50},
                    "spot": {f"{zones}-az1": {**row, "usd": 20}},
                    "capacity_block": {f"{zones}-az2": {**row, "usd": 40}},
                }
            },
            "items": {name: {**row, "usd": usd} for name, usd in (items or {}).items()},
        }
    )
    return replace(CATALOG, region_prices=(prices,), sources={**CATALOG.sources, **prices.sources})


def test_a_price_read_from_aws_comes_before_the_catalogs_own() -> None:
    sheet = price_of(plan(pool(count=2)), read_from_aws())
    assert sheet.lines[0].hourly_usd == 100
    assert sheet.lines[0].source == "read"
    assert sheet.sources["read"].title == "AWS"


def test_a_price_read_in_a_region_says_nothing_of_another() -> None:
    catalog = read_from_aws(zones="use2", region="us-east-2")
    assert price_of(plan(pool()), catalog).lines[0].source == "price-list"


def test_spot_and_block_prices_hold_in_their_own_zone() -> None:
    (row,) = price_of(plan(pool(count=2)), read_from_aws()).pools
    shipped = CATALOG.instance_type("p5.48xlarge").capacity_block_usd_per_hour
    assert shipped
    assert (row.on_demand, row.spot) == (100, 40)
    assert row.capacity_block == pytest.approx(2 * shipped)
    assert row.cheapest == "spot"
    assert row.sources == ("capacity-block-prices", "read")


def test_nothing_is_cheapest_where_no_price_is_known() -> None:
    assert priced(plan(pool("m7i.large"))).pools[0].cheapest == ""


def test_root_disks_are_counted_once_their_price_was_read() -> None:
    assert "root disks" in priced(plan(pool())).not_counted
    sheet = price_of(plan(pool(count=3), head=head()), read_from_aws({"ebs.gp3": 0.073}))
    disks = {line.what: line for line in sheet.lines}["root disks"]
    assert disks.quantity == 4 * 200
    assert disks.hourly_usd == pytest.approx(800 * 0.073 / HOURS_A_MONTH)
    assert "root disks" not in sheet.not_counted


def test_services_and_file_systems_take_the_price_that_was_read() -> None:
    items = {"natGateway": 0.05, "fsxLustre.persistent2.500": 0.73, "efs.standard": 0.3}
    wish = plan(
        network=network(public_cidr="10.0.255.240/28"),
        file_systems=(lustre(), lustre(mount="/home", kind="efs", deployment=None)),
    )
    lines = {line.what: line for line in price_of(wish, read_from_aws(items)).lines}
    assert lines["NAT gateway"].hourly_usd == 0.05
    assert lines["file system /fsx"].hourly_usd == pytest.approx(48000 * 0.73 / HOURS_A_MONTH)
    assert lines["file system /home"].source == "read"


def test_the_head_is_a_line_and_unknown_where_its_type_has_no_price() -> None:
    assert priced(plan(head=head())).unknown == ("head",)
    sheet = priced(plan(head=head("g5.48xlarge")))
    assert sheet.hourly_usd == CATALOG.instance_type("g5.48xlarge").on_demand_usd_per_hour


@pytest.mark.parametrize("throughput", [125, 250, 500, 1000])
def test_lustre_costs_by_capacity_and_tier(throughput: int) -> None:
    system = lustre(throughput=throughput, capacity_gib=4800)
    capacity, _ = priced(plan(file_systems=(system,))).lines
    month = load_prices().fsx_lustre.capacity_usd_per_gb_month["persistent2"][throughput] * 4800
    assert capacity.hourly_usd == pytest.approx(month / HOURS_A_MONTH)
    assert capacity.what == "file system /fsx"


def test_metadata_operations_that_are_asked_for_cost_apart() -> None:
    _, metadata = priced(plan(file_systems=(lustre(metadata_iops=6000),))).lines
    month = load_prices().fsx_lustre.metadata_iops_usd_per_month["persistent2"] * 6000
    assert metadata.hourly_usd == pytest.approx(month / HOURS_A_MONTH)


def test_metadata_operations_that_aws_decides_are_unknown() -> None:
    sheet = priced(plan(file_systems=(lustre(metadata_iops=None),)))
    assert sheet.unknown == ("metadata of /fsx",)
    assert "AWS decides" in sheet.lines[1].note


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({"deployment": "scratch2", "throughput": None}, ["file system /fsx"]),
        (
            {"deployment": "intelligentTiering", "capacity_gib": None, "throughput": 4000},
            ["file system /fsx", "metadata of /fsx"],
        ),
        ({"throughput": 333}, ["file system /fsx"]),
        ({"throughput": None}, ["file system /fsx"]),
        ({"capacity_gib": None}, ["file system /fsx"]),
        ({"kind": "efs", "deployment": None}, ["file system /fsx"]),
        ({"kind": "fsxOpenZfs", "deployment": None}, ["file system /fsx"]),
    ],
)
def test_a_file_system_without_a_stated_price_is_unknown(
    changes: dict[str, Any], unknown: list[str]
) -> None:
    assert list(priced(plan(file_systems=(lustre(**changes),))).unknown) == unknown


@pytest.mark.parametrize("changes", [{"id": "fs-0123456789abcdef0"}, {"kind": "localNvme"}])
def test_what_exists_or_comes_with_the_nodes_is_no_line(changes: dict[str, Any]) -> None:
    assert priced(plan(file_systems=(lustre(**changes),))).lines == ()


@pytest.mark.parametrize(
    ("changes", "what", "service"),
    [
        ({"network": network(public_cidr="10.0.255.0/28")}, "NAT gateway", "natGateway"),
        ({"kubernetes": Kubernetes(version="1.34")}, "EKS control plane", "eksControlPlane"),
    ],
)
def test_a_service_is_unknown_until_a_source_states_its_price(
    changes: dict[str, Any], what: str, service: str
) -> None:
    wish = plan(**changes)
    assert priced(wish).unknown == (what,)
    sheet = price_of(wish, CATALOG, with_services(**{service: 0.5}))
    assert (sheet.hourly_usd, sheet.unknown) == (0.5, ())


def test_endpoints_stay_unknown_because_the_plan_does_not_count_them() -> None:
    wish = plan(network=network(internet="endpoints"))
    sheet = price_of(wish, CATALOG, with_services(interfaceEndpoint=0.5))
    assert sheet.unknown == ("interface endpoints",)
    assert "not known" in sheet.lines[0].note


def test_a_network_that_exists_has_no_nat_gateway_of_ours() -> None:
    assert priced(plan(network=network(vpc_id="vpc-1", subnet_id="subnet-1"))).lines == ()


def test_a_price_of_another_region_says_so() -> None:
    assert "not of" not in only(plan(pool())).note
    ohio = network(zone_id="use2-az1")
    assert "us-east-1, not of use2-az1" in only(plan(pool(), network=ohio)).note
    capacity, _ = priced(plan(file_systems=(lustre(),), network=ohio)).lines
    assert "not of" not in capacity.note
    capacity, _ = priced(plan(file_systems=(lustre(),))).lines
    assert "us-east-2, not of use1-az1" in capacity.note


def test_a_local_zone_has_prices_of_its_own() -> None:
    line = only(plan(pool(), network=network(zone_id="use1-dfw2-az1")))
    assert "not of use1-dfw2-az1" in line.note


def test_a_month_has_730_hours() -> None:
    sheet = priced(plan(pool()))
    assert sheet.monthly_usd == pytest.approx(sheet.hourly_usd * 730)


def test_a_stack_of_nothing_costs_nothing_and_leaves_nothing_open() -> None:
    sheet = priced(plan())
    assert (sheet.hourly_usd, sheet.unknown, sheet.lines) == (0, (), ())


@given(
    pools=st.lists(
        st.builds(
            pool,
            st.sampled_from(KINDS),
            st.sampled_from(WAYS),
            count=st.integers(1, 2000),
            spares=st.integers(0, 50),
        ),
        max_size=5,
    )
)
def test_each_line_has_a_sourced_price_above_nothing_or_is_unknown(pools: list[PoolPlan]) -> None:
    sheet = priced(plan(*pools))
    assert len(sheet.lines) == len(sheet.pools) == len(pools)
    known = [line for line in sheet.lines if line.hourly_usd is not None]
    assert all(line.hourly_usd and line.source in sheet.sources for line in known)
    assert len(known) + len(sheet.unknown) == len(pools)
    assert sheet.hourly_usd == pytest.approx(sum(line.hourly_usd or 0 for line in known))
