"""The decision tables that settings or paths name, run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from service import settings as table
from service.authz.publishing.shipped import policy_folder, read_shipped
from service.kernel.extension import CASES
from service.laboratory.tables import read_tables
from service.laboratory.tested import Tested, own_tables, run_tests
from service.operator.paths import near


def tested(settings: table.Policy, paths: Sequence[str], *, coverage: bool, mutate: bool) -> Tested:
    """Return the result of the tables of ``paths``, or of the policy's own; PolicyError if unreadable."""
    folder = near(policy_folder(settings.folder))
    own = read_shipped(settings.model, folder, settings.invariants, settings.extensions)
    if paths:
        tables = read_tables([near(Path(path)) for path in paths], own)
    else:
        tables = own_tables(own, [folder / CASES, *own.cases_of_extensions])
    return run_tests(own, tables, coverage=coverage, mutate=mutate)
