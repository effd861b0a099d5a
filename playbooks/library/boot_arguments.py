# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Arguments that the kernel is booted with: ask for them, and see whether it was."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: boot_arguments
short_description: Adds arguments to the kernel's command line
options:
  arguments:
    description: Arguments, as they stand on the command line.
    type: list
    elements: str
    required: true
  family:
    description: How the boot loader is told; C(debian) by a file for GRUB, C(redhat) by grubby.
    choices: [debian, redhat]
    required: true
  procfs:
    description: Where /proc is.
    type: path
    default: /proc
  reboot_file:
    description: Where to note that they count only after a reboot.
    type: path
    required: true
  state:
    description: C(checked) changes nothing and fails where the running kernel lacks one.
    choices: [present, checked]
    default: present
author: muster
"""

EXAMPLES = r"""
- name: Keep processors awake
  boot_arguments:
    arguments: [processor.max_cstate=1]
    family: debian
    reboot_file: /run/muster/reboot-required.d/tuning
"""

RETURN = r"""
missing:
  description: What this boot lacks.
  returned: always
  type: list
"""

_GRUB = Path("/etc/default/grub.d/90-muster.cfg")
_HEADER = "# Written by muster; local edits are lost.\n"


def missing(arguments: list[str], command_line: str) -> list[str]:
    """Return the arguments that the running kernel was not booted with."""
    present = command_line.split()
    return [argument for argument in arguments if argument not in present]


def grub_file(arguments: list[str]) -> str:
    """Return the file that adds the arguments to those that are there."""
    for argument in arguments:
        if not re.fullmatch(r"[A-Za-z0-9_.,:=/@+-]+", argument):
            raise ValueError(f"'{argument}': not an argument of the kernel")
    return f'{_HEADER}GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {" ".join(arguments)}"\n'


def _tell_boot_loader(module: AnsibleModule, arguments: list[str], lacking: list[str]) -> bool:
    """Change what the next boot does; return whether that was needed."""
    if module.params["family"] == "redhat":
        command = ["grubby", "--update-kernel=ALL", f"--args={' '.join(arguments)}"]
        due = bool(lacking)
    else:
        text = grub_file(arguments)
        due = not _GRUB.is_file() or _GRUB.read_text(encoding="utf-8") != text
        command = ["update-grub"]
        if due and not module.check_mode:
            _GRUB.parent.mkdir(parents=True, exist_ok=True)
            _GRUB.write_text(text, encoding="utf-8")
    if due and not module.check_mode:
        status, out, err = module.run_command(command)
        if status:
            _GRUB.unlink(missing_ok=True)  # so that the next run tries again
            raise ValueError(f"{command[0]}: {(err or out).strip()}")
    return due


def _note_reboot(module: AnsibleModule, lacking: list[str]) -> bool:
    path = Path(module.params["reboot_file"])
    line = f"tuning: kernel arguments {' '.join(lacking)}\n"
    if not lacking or (path.is_file() and path.read_text(encoding="utf-8") == line):
        return False
    if not module.check_mode:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
    return True


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "arguments": {"type": "list", "elements": "str", "required": True},
            "family": {"choices": ["debian", "redhat"], "required": True},
            "procfs": {"type": "path", "default": "/proc"},
            "reboot_file": {"type": "path", "required": True},
            "state": {"choices": ["present", "checked"], "default": "present"},
        },
        supports_check_mode=True,
    )
    arguments = module.params["arguments"]
    if not arguments:
        module.exit_json(changed=False, missing=[])
    changed, lacking = False, []
    try:
        command_line = (Path(module.params["procfs"]) / "cmdline").read_text(encoding="utf-8")
        lacking = missing(arguments, command_line)
        if module.params["state"] == "present":
            changed = _tell_boot_loader(module, arguments, lacking)
            changed |= _note_reboot(module, lacking)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if lacking and module.params["state"] == "checked":
        module.fail_json(msg=f"booted without {' '.join(lacking)}: reboot")
    module.exit_json(changed=changed, missing=lacking)


if __name__ == "__main__":
    main()
