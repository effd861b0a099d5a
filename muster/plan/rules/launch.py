"""Rules on who may build and who may log in, and on launches that EC2 checks beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from muster.plan.cloud_view import DryRun, Unread
from muster.plan.permissions import actions_of
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown, untold

_NOT_ALLOWED = "UnauthorizedOperation"
_ALLOWED = "allowed"
_FORBIDDEN = "explicitDeny"


def launches_are_accepted(view: View) -> Iterator[Said]:
    """EC2 accepts the launch of every pool and the head, without making it."""
    paths = {pool.name: f"pools[{n}]" for n, pool in enumerate(view.plan.pools)}
    for name, found in view.cloud.dry_runs.items():
        path = paths.get(name, "head")
        if isinstance(found, Unread):
            do = "A dry run says whether type, image, interfaces and permissions go together."
            yield untold(f"whether EC2 would launch {name} is not known", path, do, found)
        elif found.accepted:
            yield passed(f"EC2 would launch {name}; a dry run says nothing of capacity", path)
        else:
            yield _refused(name, found, path)


def _refused(name: str, found: DryRun, path: str) -> Said:
    what = f"EC2 would not launch {name}: {found.code}: {found.message}".rstrip(": ")
    if found.code == _NOT_ALLOWED:
        do = "Allow ec2:RunInstances; what denies it: aws sts decode-authorization-message"
        return failed(what[:300], path, f"{do} --encoded-message …")
    return failed(what, path, "Change what it names, here or in the account.")


def caller_may_build(view: View) -> Iterator[Said]:
    """IAM lets the caller do all that `up` does."""
    decisions, path = view.cloud.decisions, "stack"
    if isinstance(decisions, Unread):
        if decisions.asked:
            do = "Compare the caller's policies with catalog/permissions.yaml."
            yield untold("whether the caller may build the stack is not known", path, do, decisions)
        return
    wanted = actions_of(view.plan)
    forbidden = [action for action in wanted if decisions.get(action) == _FORBIDDEN]
    untold_ = [a for a in wanted if decisions.get(a) not in {_ALLOWED, _FORBIDDEN}]
    if forbidden:
        what = f"the caller is denied {', '.join(forbidden)}"
        yield failed(what, path, "Have the policy changed that denies it, or use another role.")
    elif untold_:
        what = f"the caller is not allowed {', '.join(untold_)} on all resources"
        do = "Allow it, or waive this rule if it is allowed on those of the stack."
        yield unknown(what, path, do)
    else:
        yield passed(f"IAM allows the caller all {len(wanted)} actions", path)


def somebody_may_log_in(view: View) -> Iterator[Said]:
    """Where nodes are configured and tested, there is a key to reach them with."""
    beyond = [stage for stage in view.spec.stages if stage != "infra"]
    if not beyond or not view.plan.pools:
        return
    if view.plan.access is None:
        what = f"no access is given, but stages {', '.join(beyond)} log in to the nodes"
        do = "Give access.publicKeys, or set stages: [infra]."
        yield failed(what, "access", do)
    else:
        yield passed(f"nodes accept {len(view.plan.access.public_keys)} keys", "access")


RULES: tuple[Rule, ...] = (
    Rule(
        id="dry-run",
        title="EC2 accepts the launch of every pool and the head",
        source="EC2 API, RunInstances with DryRun",
        ask=launches_are_accepted,
    ),
    Rule(
        id="permissions",
        title="IAM lets the caller do all that `up` does",
        source="IAM API, SimulatePrincipalPolicy; actions in catalog/permissions.yaml",
        ask=caller_may_build,
    ),
    Rule(
        id="access-given",
        title="Where nodes are configured and tested, there is a key to reach them with",
        source="a choice of this project: nodes have no password and no public address",
        ask=somebody_may_log_in,
    ),
)
