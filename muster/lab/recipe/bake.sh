#!/bin/sh
# Makes a plain Debian tree a lab node.
# Usage: bake.sh ROOT FILES FAKEGPU [ALLREDUCE_C]
set -eu
root=$1 files=$2 fakegpu=$3 allreduce=${4:-}

echo "copy configuration"
cp -R --no-preserve=ownership "$files/." "$root/"
chmod 0755 "$root/etc" "$root/etc/ssh" "$root/etc/systemd"
install -D -m 0755 "$fakegpu" "$root/usr/local/lib/fakegpu/nvidia-smi"

echo "choose services"
# Only sshd runs by itself (see system-preset/00-lab.preset): everything else is for the playbooks.
systemctl --root="$root" --quiet preset-all
systemctl --root="$root" --quiet mask \
    console-getty.service getty@.service systemd-logind.service systemd-pstore.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer \
    logrotate.timer systemd-networkd-wait-online.service
systemctl --root="$root" --quiet set-default multi-user.target

echo "remove identity"
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id" "$root/etc/munge/munge.key"
rm -f "$root/etc/hostname" "$root/etc/resolv.conf"
: > "$root/etc/machine-id"
: > "$root/etc/resolv.conf"
find "$root/var/lib/mysql" -mindepth 1 -delete
install -d -m 0700 "$root/root/.ssh"

echo "forget where packages came from"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/apt.conf.d/99mmdebstrap

# A dead name server costs each slurmd 10 s at its start; /etc/hosts is complete.
sed -i 's/^hosts:.*/hosts: files/' "$root/etc/nsswitch.conf"

if [ -n "$allreduce" ]; then
    echo "compile the all-reduce test"
    install -m 0644 "$allreduce" "$root/tmp/muster-allreduce.c"
    chroot "$root" env HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpicc -O2 -Wall -o /usr/local/bin/muster-allreduce /tmp/muster-allreduce.c -lm
    rm "$root/tmp/muster-allreduce.c"
fi
