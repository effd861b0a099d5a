"""The only list of our resource types."""

from __future__ import annotations

from muster.clock import SystemClock
from muster.project import store_root
from muster.provider.acceptance import AcceptanceHandler
from muster.provider.aws import AwsFleetHandler
from muster.provider.convergence import ConvergenceHandler
from muster.provider.handler import Handler
from muster.provider.lab import LabImageHandler, LabNetworkHandler, LabNodeHandler


def handlers() -> tuple[Handler, ...]:
    """Make one handler of each type, for the project in the current directory."""
    root, clock = store_root(), SystemClock()
    return (
        LabImageHandler(),
        LabNetworkHandler(),
        LabNodeHandler(),
        AwsFleetHandler(root, clock),
        ConvergenceHandler(root, clock),
        AcceptanceHandler(root, clock),
    )
