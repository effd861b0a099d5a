#!/bin/sh
# Written by muster from templates/slurm/epilog.sh.j2; local edits are lost.
# Runs on each node after a job. Slurm drains the node when it fails: the next job never gets a
# GPU that this one lost. No Slurm command in here: the controller waits for this script.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
job=${SLURM_JOB_ID:-none}
proc=${MUSTER_PROC:-/proc}

# Whole lines are compared: job 12 never takes the line of job 123.
jobs=${MUSTER_GPU_JOBS:-/run/muster/gpu-jobs}
if [ -d "$jobs" ]; then
	(
		flock -w 5 9
		for file in "$jobs"/*; do
			[ -f "$file" ] || continue
			grep -vx -- "$job" "$file" >"$jobs/.fresh"
			mv "$jobs/.fresh" "$file"
		done
	) 9>"$jobs/.lock"
fi

# Processes of this job, and of no other, that still hold a GPU: known by cgroup or environment.
left() {
	holders=$(timeout -k 1 10 nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null) || return 1
	for pid in $holders; do
		case $pid in *[!0-9]*) continue ;; esac
		if grep -Eqs "/job_$job(/|\$)" "$proc/$pid/cgroup" ||
			tr '\0' '\n' 2>/dev/null <"$proc/$pid/environ" | grep -qx "SLURM_JOB_ID=$job"; then
			echo "$pid"
		fi
	done
}

# Where nvidia-smi gives no answer, the check below says why.
if pids=$(left); then
	tries=5
	while [ -n "$pids" ] && [ "$tries" -gt 0 ]; do
		for pid in $pids; do
			kill -9 "$pid" 2>/dev/null
		done
		sleep 1
		tries=$((tries - 1))
		pids=$(left) || break
	done
	if [ -n "$pids" ]; then
		logger -t muster-epilog -p daemon.err -- "gpu-left: processes of job $job hold a GPU; expected none: $pids" || :
		exit 1
	fi
fi

reason=$(muster-node-check) && exit 0
logger -t muster-epilog -p daemon.err -- "$reason" || :
exit 1
