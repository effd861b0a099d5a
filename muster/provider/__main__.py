"""`python -m muster.provider ENGINE_ADDRESS`: the plugin that Pulumi starts."""

import sys

from muster.provider import server
from muster.provider.registry import handlers

if __name__ == "__main__":
    server.main(handlers(), sys.argv[1:])
