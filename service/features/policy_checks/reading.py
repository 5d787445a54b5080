"""The checks of a policy's files: the lint of the model, and the statements of ``invariants.yaml``."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from service.authz.engine.rules import Rule
from service.kernel.feature import Feature, about_any
from service.laboratory.invariants.reading import read_invariants
from service.laboratory.invariants.statements import Invariants
from service.laboratory.lint.model import lint_model, parsed_model
from service.settings.sections.policy import Demands

__all__ = ["lint_model", "parsed_model", "read_statements"]


def read_statements(
    paths: Iterable[Path] = (),
    lines: tuple[Rule, ...] = (),
    assurance: Demands = "base",
    *,
    strict: bool = False,
    off: tuple[Feature, ...] = (),
) -> Invariants:
    """Return the statements of ``paths`` for a node with those ``lines`` of extensions and demands.

    ``strict`` omits statements about ``@unregistered``. Those about the features ``off`` are left out. Raises
    PolicyError with file, line and reason of every fault.
    """
    stated = read_invariants(paths).with_own(lines).with_demands(assurance)
    stated = stated.without_unregistered() if strict else stated
    return stated.without(partial(about_any, off)) if off else stated
