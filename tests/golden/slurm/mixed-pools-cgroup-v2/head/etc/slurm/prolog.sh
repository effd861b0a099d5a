#!/bin/sh
# Written by muster from templates/slurm/prolog.sh.j2; local edits are lost.
# Runs on each node before a job. Slurm drains the node when it fails, and queues the job again.
# No Slurm command in here: the controller waits for this script.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /run/muster
if reason=$(muster-node-check); then
	echo "$(date -u +%FT%TZ) job ${SLURM_JOB_ID:-none} pass" >>/run/muster/prolog.log
	exit 0
fi
echo "$(date -u +%FT%TZ) job ${SLURM_JOB_ID:-none} fail $reason" >>/run/muster/prolog.log
logger -t muster-prolog -p daemon.err -- "$reason" || :
exit 1
