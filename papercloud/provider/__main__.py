"""Run the stand-in as Pulumi starts it."""

import sys

from papercloud.provider.servicer import main

main(sys.argv[1:])
