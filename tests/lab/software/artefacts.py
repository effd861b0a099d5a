"""Installers of the lab: small archives that do on fake hardware what the real ones do."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from muster.lab.fakehw.install import PROGRAM
from muster.lab.fakehw.node.linker import LINKED
from muster.lab.fakehw.node.machine import PACKAGES
from tests.lab.software.repository import archive

DIRECTORY = "/shared/artefacts"
_NCCL_NET = "/opt/amazon/ofi-nccl/lib/libnccl-net.so"


def _efa(version: str) -> bytes:
    """Amazon's installer: a driver, libfabric and the plugin for NCCL, below /opt/amazon."""
    driver = {"version": f"{version}.9", "license": "Dual BSD/GPL"}
    brought = {
        "modules": {"efa": driver},
        "tools": {"fi_info": version},
        "libraries": {"libnccl-net.so": _NCCL_NET},
    }
    script = f"""#!/bin/sh
set -eu
mkdir -p /opt/amazon/efa/bin /{PACKAGES}
echo '{json.dumps(brought)}' > /{PACKAGES}/aws-efa-installer.json
ln -sf /{PROGRAM} /opt/amazon/efa/bin/fi_info
echo 'PATH="/opt/amazon/efa/bin/:$PATH"' > /etc/profile.d/zippy_efa.sh
modprobe -r efa
modprobe efa
echo '# EFA installer version: {version}' > /opt/amazon/efa_installed_packages
"""
    return archive({"/aws-efa-installer/efa_installer.sh": script}, {})


def _nccl_tests(version: str) -> bytes:
    """Sources whose build links with MPI only where it is asked to."""
    programs = "all_gather_perf all_reduce_perf alltoall_perf reduce_scatter_perf sendrecv_perf"
    makefile = f"""LIBRARIES = libnccl.so.2 $(if $(filter 1,$(MPI)),libmpi.so.40)
all:
\tmkdir -p $(BUILDDIR)
\tfor p in {programs}; do \\
\t  printf '#!/bin/sh\\n{LINKED}%s\\n' '$(LIBRARIES)' > $(BUILDDIR)/$$p; \\
\t  chmod 755 $(BUILDDIR)/$$p; done
"""
    return archive({f"/nccl-tests-{version}/Makefile": makefile}, {})


_MAKERS = {"efa": _efa, "nccl_tests": _nccl_tests}


def contents(component: str, version: str) -> bytes:
    """Return the archive of a component."""
    return gzip.compress(_MAKERS[component](version), mtime=0)


def digest(component: str, version: str) -> str:
    """Return the sha256 of the archive of a component."""
    return hashlib.sha256(contents(component, version)).hexdigest()


def build(versions: Mapping[str, str], directory: Path) -> None:
    """Write the archives of components: `<component>-<version>.tar.gz`."""
    directory.mkdir(parents=True, exist_ok=True)
    for component, version in versions.items():
        path = directory / f"{component}-{version}.tar.gz"
        path.write_bytes(contents(component, version))
