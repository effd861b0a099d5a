"""Our Pulumi provider: lab infrastructure, and converging and accepting a fleet as resources.

`handler.py` and the handlers know nothing of Pulumi; `provider.py` and `server.py` speak its
protocol; `resources.py` is what programs in stacks/ use.
"""
