"""Faults of the settings, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from service.kernel.operator_error import OperatorError
from service.kernel.text import printable


class Fault(NamedTuple):
    """One fault: the setting (``auth.max_devices``), variable or file, and a sentence safe to print."""

    name: str
    message: str


class SettingsError(OperatorError):
    """The settings can't be used; ``faults`` holds every fault found, in the order of the table."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(Fault(*map(printable, fault)) for fault in faults)
        count = len(self.faults)
        head = "1 setting is wrong:" if count == 1 else f"{count} settings are wrong:"
        super().__init__("\n".join([head, *(f"  {name}: {message}" for name, message in self.faults)]))
