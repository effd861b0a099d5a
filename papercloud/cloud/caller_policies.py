"""What IAM's simulator says: nobody is held back here, as no policy is enforced on calls either."""

from __future__ import annotations

from typing import Any

from papercloud.cloud.calls import Call, handles


@handles("iam", "SimulatePrincipalPolicy")
def _simulate(call: Call) -> dict[str, Any]:
    resources = call.get("ResourceArns") or ["*"]
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for action in call.get("ActionNames") or ()
        for resource in resources
    ]
    return {"EvaluationResults": results, "IsTruncated": False}
