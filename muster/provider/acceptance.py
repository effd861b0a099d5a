"""Placeholder until wired."""

from muster.provider.convergence import ConvergenceHandler


class AcceptanceHandler(ConvergenceHandler):
    resource_type = "muster:index:Acceptance"
