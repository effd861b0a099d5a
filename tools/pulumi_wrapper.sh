#!/bin/sh
# Runs the real Pulumi CLI with this project's defaults; works from any directory.
# tools/pulumi_cli.py puts three lines before this text: muster_project, muster_venv, muster_cli.
set -eu
: "${muster_project:?}" "${muster_venv:?}" "${muster_cli:?}"

if [ ! -x "$muster_cli" ]; then
    echo "pulumi: the CLI at $muster_cli is gone. Run \`make setup\` in $muster_project." >&2
    exit 127
fi

# The language host takes `python3` from PATH, so the project's packages must come first.
PATH="$muster_venv/bin:${muster_cli%/*}:$PATH"
export PATH PULUMI_SKIP_UPDATE_CHECK="${PULUMI_SKIP_UPDATE_CHECK-1}"
# A program must not fetch provider plugins behind the user's back; `pulumi plugin install` does it.
export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION="${PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION-1}"

# Who names a backend also has its login and its secrets: nothing of ours is mixed in.
if [ -z "${PULUMI_BACKEND_URL-}" ]; then
    state="$muster_project/.muster"
    mkdir -p "$state/pulumi" "$state/pulumi-home"
    export PULUMI_BACKEND_URL="file://$state/pulumi" PULUMI_HOME="${PULUMI_HOME:-$state/pulumi-home}"
    if [ -z "${PULUMI_CONFIG_PASSPHRASE+set}${PULUMI_CONFIG_PASSPHRASE_FILE+set}" ]; then
        passphrase="$state/passphrase"
        if [ ! -e "$passphrase" ]; then
            # A hard link appears whole and never replaces: two first runs agree on one passphrase.
            (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' > "$passphrase.$$")
            ln "$passphrase.$$" "$passphrase" 2> /dev/null || [ -e "$passphrase" ]
            rm -f "$passphrase.$$"
        fi
        export PULUMI_CONFIG_PASSPHRASE_FILE="$passphrase"
    fi
fi

exec "$muster_cli" "$@"
