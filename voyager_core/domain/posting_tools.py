"""What posted an article, as its message-id shows it: half of a garbage signature.

The forms are facts of the tools' own sources and of message-ids seen; no two match one id.
"""

import re

POSTING_TOOLS = {
    "nyuu": r"^[A-Za-z]{20,30}-\d{13}@nyuu$",
    "ngpost": r"^[0-9a-f]{32}@ngPost(?:\.com)?$",
    "newsup": r"@[0-9a-z]+\.newsup$",
    "powerpost": r"(?i)^part\d+of\d+\.[^@]+@powerpost2000AA\.local$",
    "camelsystem": r"(?i)^part\d+of\d+\.[^@]+@camelsystem-powerpost\.local$",
    "yencbin": r"^Part\d+of\d+\.[0-9A-F]{32}@\d+\.local$",
    "jbinup": r"@JBinUp\.local$",
    "jbindown": r"@JBinDown\.local$",
    "newsmangler": r"^\d{9,10}\.\d{1,6}\.\d+@",
    "gopoststuff": r"@gopoststuff$",
    "newztoolz": r"^NewzToolz_",
    "random_host": r"^[A-Za-z0-9_-]{20,34}@[A-Za-z0-9_-]{7,12}\.[A-Za-z0-9]{3}$",
}
"""A pattern for the message-ids of each tool; in the form that Python and Rust both know."""

UNKNOWN_TOOL = "unknown"
"""The tool of a message-id of no known form."""

_COMPILED = {tool: re.compile(pattern) for tool, pattern in POSTING_TOOLS.items()}


def tool_of(message_id: str) -> str:
    """Returns the tool whose form a message-id has."""
    found = (tool for tool, pattern in _COMPILED.items() if pattern.search(message_id))
    return next(found, UNKNOWN_TOOL)


def is_signature(text: object) -> bool:
    """Tells whether a value is a signature; `*` stands for every newsgroup."""
    if not isinstance(text, str):
        return False
    tool, _, group = text.partition("@")
    return (tool in POSTING_TOOLS or tool == UNKNOWN_TOOL) and bool(group) and " " not in group
