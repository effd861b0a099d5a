#!/bin/sh
# Written by muster from templates/slurm/prolog.sh.j2; local edits are lost.
# Runs on each node before a job. Slurm drains the node when it fails, and queues the job again.
# No Slurm command in here: the controller waits for this script.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /run/muster
# For dcgm-exporter, where its role made the directory: a file for each GPU, a line for each job.
jobs=${MUSTER_GPU_JOBS:-/run/muster/gpu-jobs}
if [ -d "$jobs" ]; then
	(
		flock -w 5 9
		for gpu in $(printf '%s' "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
			echo "$SLURM_JOB_ID" >>"$jobs/$gpu"
		done
	) 9>"$jobs/.lock"
fi
if reason=$(muster-node-check); then
	echo "$(date -u +%FT%TZ) job ${SLURM_JOB_ID:-none} pass" >>/run/muster/prolog.log
	exit 0
fi
echo "$(date -u +%FT%TZ) job ${SLURM_JOB_ID:-none} fail $reason" >>/run/muster/prolog.log
logger -t muster-prolog -p daemon.err -- "$reason" || :
exit 1
