# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Keep units of systemd from running, by whatever may want them."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: masked_units
short_description: Masks and stops units, all of them in one round trip
options:
  units:
    description: Names of units; one that does not exist is masked too, should it come later.
    type: list
    elements: str
    required: true
  state:
    description: C(checked) changes nothing and fails where one is not masked, or runs.
    choices: [masked, checked]
    default: masked
author: muster
"""

EXAMPLES = r"""
- name: Keep the system from upgrading itself
  masked_units:
    units: [apt-daily-upgrade.timer]
"""

RETURN = r"""
faults:
  description: What was not so before.
  returned: always
  type: list
"""


def parse(shown: str) -> dict[str, dict[str, str]]:
    """Read `systemctl show`: properties by unit."""
    blocks = (
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        for block in shown.split("\n\n")
    )
    return {block["Id"]: block for block in blocks if "Id" in block}


def running(shown: str, units: list[str]) -> list[str]:
    """Return the units that have to be stopped; systemd refuses to stop one it does not know."""
    found = parse(shown)
    still = {"active", "activating", "reloading"}
    return [unit for unit in units if found.get(unit, {}).get("ActiveState") in still]


def faults(shown: str, units: list[str]) -> list[str]:
    """Say which units are not masked, or run; no answer is a fault."""
    found = parse(shown)
    said = []
    for unit in units:
        load = found.get(unit, {}).get("LoadState", "unknown")
        active = found.get(unit, {}).get("ActiveState", "unknown")
        if load != "masked":
            said.append(f"{unit} is {load}, masked expected")
        elif active not in {"inactive", "failed"}:
            said.append(f"{unit} is masked but still {active}")
    return said


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "required": True},
            "state": {"choices": ["masked", "checked"], "default": "masked"},
        },
        supports_check_mode=True,
    )
    units = module.params["units"]
    command = ["systemctl", "show", "--property=Id,LoadState,ActiveState", *units]
    _, shown, _ = module.run_command(command)
    found = faults(shown, units)
    if found and module.params["state"] == "checked":
        module.fail_json(msg="; ".join(found))
    if found and not module.check_mode:
        active = running(shown, units)
        due = [["mask", *units], *([["stop", *active]] if active else [])]
        for words in due:
            status, out, err = module.run_command(["systemctl", *words])
            if status:
                module.fail_json(msg=f"systemctl {words[0]}: {(err or out).strip()}")
    module.exit_json(changed=bool(found), faults=found)


if __name__ == "__main__":
    main()
