"""A program with one Acceptance, served by jar.py in place of the real burn-in."""

import pulumi

from muster.provider.resources import Acceptance, AcceptanceArgs

config = pulumi.Config()
jar = Acceptance(
    "jar",
    AcceptanceArgs(
        stack="test",
        fleet={"directory": config.require("directory")},
        wanted=config.require_int("wanted"),
        policy="quick",
        waivers=[],
        converged="c1",
    ),
)
pulumi.export("ready", jar.output("ready"))
pulumi.export("accepted", jar.output("accepted"))
