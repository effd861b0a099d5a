#!/bin/sh
# Written by muster from templates/slurm/epilog.sh.j2; local edits are lost.
# Runs on each node after a job. Slurm drains the node when it fails: the next job never gets a
# GPU that this one lost. No Slurm command in here: the controller waits for this script.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
reason=$(muster-node-check) && exit 0
logger -t muster-epilog -p daemon.err -- "$reason" || :
exit 1
