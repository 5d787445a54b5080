"""The finding of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

State = Literal["ok", "warning", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result in one line, and what to do about it; neither holds a secret.

    ``unknown``: the check could not be made; ``message`` says why. ``users`` are the accounts that the
    message names, each with its id.
    """

    state: State
    message: str
    remedy: str = ""
    users: tuple[tuple[int, str], ...] = ()


Findings: TypeAlias = list[tuple[str, Finding]]
"""The name of each check with its finding."""

STATES: Final[tuple[State, ...]] = ("fault", "warning", "unknown", "ok")
"""The states, the worst first."""


def worst_of(findings: Findings) -> State:
    """Return the worst state of at least one finding."""
    states = {finding.state for _, finding in findings}
    return next(state for state in STATES if state in states)


def ok(message: str) -> Finding:
    """Return a finding with nothing to do."""
    return Finding("ok", message)


def warning(message: str, remedy: str, *, users: Iterable[tuple[int, str]] = ()) -> Finding:
    """Return a finding of something that works but is a risk, of ``users`` by id and name."""
    return Finding("warning", message, remedy, tuple(users))


def fault(message: str, remedy: str) -> Finding:
    """Return a finding of something that does not work, or is a security hole."""
    return Finding("fault", message, remedy)


def unknown(message: str) -> Finding:
    """Return the finding of a check that could not be made."""
    return Finding("unknown", message)
