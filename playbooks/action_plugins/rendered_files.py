# ruff: noqa: INP001  Ansible finds plugins by folder, not by package
"""Hand the content of rendered files to the module of the same name, in one round trip a host."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Reads each `src` on the controller; what is read is never treated as a template."""

    _supports_check_mode = True

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Replace `src` by the file's content and run the module."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        arguments["files"] = [self._with_content(item) for item in arguments.get("files", [])]
        result.update(
            self._execute_module(
                module_name="rendered_files", module_args=arguments, task_vars=task_vars
            )
        )
        return result

    @staticmethod
    def _with_content(item: dict[str, Any]) -> dict[str, Any]:
        entry = dict(item)
        source = entry.pop("src", None)
        if source is None:
            return entry
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            message = f"{source}: {error.strerror}; expected the rendered file for {item['path']}"
            raise AnsibleActionFail(message) from error
        entry["content_base64"] = base64.b64encode(content).decode("ascii")
        return entry
