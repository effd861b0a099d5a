"""A preflight with one result of every standing, and texts that try to break out."""

from __future__ import annotations

from datetime import date

from muster.plan.rules.model import Said, failed, passed, unknown
from muster.plan.rules.run import Preflight, Result
from muster.spec import RuleWaiver

WAIVER = RuleWaiver(
    rule="quotas", reason="raised by <AWS>, case 12 | @ops", until=date(2026, 12, 1)
)


def result(rule: str, said: Said, waiver: RuleWaiver | None = None) -> Result:
    """Return what a rule says."""
    title, source = f"The title of {rule} & more.", "EC2 user guide"
    return Result(rule=rule, title=title, source=source, said=said, waiver=waiver)


def sample() -> Preflight:
    """Return one result of each standing, and two failures."""
    look = "See: aws ec2 describe-images --query 'Images[].[State,BootMode]'"
    return Preflight(
        stack="train",
        results=(
            result("mounts", passed("/fsx stands by itself", "storage[0].mount")),
            result("image-fits", unknown("ami-1 | must be <x86_64>", "pools[0].image", look)),
            result("lustre-figures", failed("3600 GiB", "storage[0].capacityGiB", "Use 4800.")),
            result("quotas", unknown("needs 384 vCPUs", "pools", "Ask for more."), WAIVER),
            result("budget", failed("no budget", "budget", "Give one.", severity="warning")),
            result("free-addresses", failed("260 of 251", "network.cidr", "Use a wider one.")),
        ),
    )
