# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Ask chrony whether the clock follows another one, and how far it is off."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: clock_offset
short_description: Checks the clock by what chrony knows of it
description:
  - Waits for chrony's first measurements, and fails where the clock follows none or is off.
options:
  max_offset_s:
    description: How far the clock may be off, in seconds.
    type: float
    required: true
  tries:
    description: How often to ask, two seconds apart.
    type: int
    default: 15
author: muster
"""

EXAMPLES = r"""
- name: Check the clock
  clock_offset:
    max_offset_s: 0.01
"""

RETURN = r"""
offset_s:
  description: How far the clock is off.
  returned: always
  type: float
"""

_FIELDS = 14
_NAME, _SYSTEM, _LAST, _LEAP = 1, 4, 5, 13


def fault(shown: str, max_offset_s: float) -> tuple[str, float]:
    """Read `chronyc -c tracking`: what is wrong, empty if nothing is, and the offset."""
    fields = shown.strip().split(",")
    if len(fields) != _FIELDS:
        return f"chronyc says '{shown.strip()}': the clock is unknown", 0.0
    try:
        offset = abs(float(fields[_SYSTEM])) + abs(float(fields[_LAST]))
    except ValueError:
        return f"chronyc says '{shown.strip()}': the clock is unknown", 0.0
    if fields[_LEAP] == "Not synchronised":
        return "the clock follows no other: chrony is not synchronised", offset
    if not offset <= max_offset_s:  # also where it is not a number
        source = fields[_NAME] or "its source"
        return (
            f"the clock is {offset:.6f} s off {source}, at most {max_offset_s} s expected",
            offset,
        )
    return "", offset


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "max_offset_s": {"type": "float", "required": True},
            "tries": {"type": "int", "default": 15},
        },
        supports_check_mode=True,
    )
    limit, tries = module.params["max_offset_s"], module.params["tries"]
    # It returns at once where the clock is fine; what is wrong after it is said below.
    module.run_command(["chronyc", "-n", "waitsync", str(tries), str(limit), "0", "2"])
    _, shown, _ = module.run_command(["chronyc", "-n", "-c", "tracking"])
    wrong, offset = fault(shown, limit)
    if wrong:
        module.fail_json(msg=wrong)
    module.exit_json(changed=False, offset_s=offset)


if __name__ == "__main__":
    main()
