#!/bin/sh
# Runs a lab node's container, and again when the node reboots.
# Usage: launch.sh CONSOLE OWN_CGROUP... -- NODE_CGROUP... -- COMMAND...
# The first node cgroup is the one of cgroup v2.
exec </dev/null >"$1" 2>&1
shift
while [ "$1" != -- ]; do
    echo $$ >"$1/cgroup.procs" || exit 97
    shift
done
shift
first=$1 cgroups=
while [ "$1" != -- ]; do
    cgroups="$cgroups $1"
    shift
done
shift

while :; do
    # The container must be in the node's cgroup before nspawn starts: else all nodes share one.
    # shellcheck disable=SC2016  # expanded by the inner shell
    sh -c 'for c in $0; do echo $$ >"$c/cgroup.procs" || exit 97; done; exec "$@"' "$cgroups" "$@"
    status=$?
    # 133: the node asked for a reboot.
    [ $status -eq 133 ] || exit $status
    echo 1 >"$first/cgroup.kill"
    tries=50
    # What an earlier boot left in the cgroups would make the next one degraded.
    # shellcheck disable=SC2086  # a list of paths without blanks
    while [ $tries -gt 0 ] && [ -n "$(find $cgroups -mindepth 1 -type d)" ]; do
        find $cgroups -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null
        tries=$((tries - 1))
        sleep 0.1
    done
done
