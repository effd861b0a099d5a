"""Text that XML can hold. Pure."""

from __future__ import annotations

import re

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace what XML 1.0 cannot hold at all, not even escaped."""
    return _NOT_XML.sub("\ufffd", text)
