"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is so, in one line, and what to do about it; neither holds a secret.

    ``unknown``: the check could not be made, for a reason that another finding tells.
    """

    state: State
    message: str
    remedy: str = ""


def ok(message: str) -> Finding:
    """Nothing to do."""
    return Finding("ok", message)


def warning(message: str, remedy: str) -> Finding:
    """Something that works, and may do harm."""
    return Finding("warning", message, remedy)


def fault(message: str, remedy: str) -> Finding:
    """Something that doesn't work, or opens a door."""
    return Finding("fault", message, remedy)


def unknown(message: str) -> Finding:
    """Nothing could be found out."""
    return Finding("unknown", message)
