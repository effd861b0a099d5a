"""The lab: real Linux nodes on this machine (systemd-nspawn), a real fabric shape, real faults."""
