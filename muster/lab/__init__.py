"""The lab: real Linux nodes on this machine (systemd-nspawn), with a real fabric shape and real faults."""
