"""The reasons that people give for their decisions."""

from service.errors import ValidationFailed
from service.kernel.value_rules import REASON


def require_reason(reason: str) -> None:
    """Return when ``reason`` says why somebody decides, in characters that can be seen; refuses it else."""
    if fault := REASON(reason) or (None if reason.strip() else "must say why"):
        raise ValidationFailed(("reason", fault))
