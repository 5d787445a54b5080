"""The check of values against what is declared of their fields, before an edit writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from service.errors import ValidationFailed
from service.kernel.fields import field_faults


def check_values(kind: type, values: Mapping[str, Any]) -> None:
    """Check some fields of ``kind``, by name; raises ValidationFailed with the faults of all of them.

    TypeError for a name that ``kind`` does not declare: nothing unknown is written.
    """
    if faults := list(field_faults(kind, values)):
        raise ValidationFailed(*faults)


def check_record(values: Any) -> None:
    """Check all fields of ``values``, a declared dataclass, as ``check_values`` does."""
    check_values(type(values), asdict(values))
