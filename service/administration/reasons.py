"""The reasons that people give for their decisions."""

from service.errors import ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import REASON


def require_reason(reason: str) -> None:
    """Check that ``reason`` has text, in visible characters only; ValidationFailed else."""
    if fault := REASON(reason) or (None if reason.strip() else sentence("reason_missing")):
        raise ValidationFailed(("reason", fault))
