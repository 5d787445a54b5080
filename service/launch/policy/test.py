"""``portcullis policy test``: decision tables and invariants; reads files only."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from service import settings as table
from service.authz.engine.errors import PolicyError
from service.authz.publishing.shipped import policy_folder, read_shipped
from service.authz.review.tested import Tested, as_text, run_tests
from service.kernel.extension import CASES
from service.launch.lazy_commands import add_json
from service.launch.output import show
from service.launch.paths import near

UNREADABLE = 2  # the exit status when there is nothing that could be tested


def add_arguments(parser: ArgumentParser) -> None:
    """Add the paths of tables, and what to find out beside their results."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="decision tables, or folders of them; else the policy's own"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="name lines and matcher rows that no case depends on"
    )
    parser.add_argument(
        "--mutate", action="store_true", help="name faults of lines and matcher that no case would notice"
    )
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Test, and print the result; returns 0 if all holds, 1 if not, 2 if files can't be read."""
    settings = table.load(environ).policy
    try:
        found = tested(settings, options.paths, coverage=options.coverage, mutate=options.mutate)
    except PolicyError as error:
        print(f"portcullis: {error}", file=sys.stderr)
        return UNREADABLE
    show(options, found, lambda: as_text(found))
    return 0 if found.passed else 1


def tested(settings: table.Policy, paths: Sequence[str], *, coverage: bool, mutate: bool) -> Tested:
    """Return the result of the tables of ``paths``, or of the policy's own; PolicyError if unreadable."""
    folder = near(policy_folder(settings.folder))
    own = read_shipped(settings.model, folder, settings.invariants, settings.extensions)
    tables = [near(Path(path)) for path in paths] or [folder / CASES, *own.cases_of_extensions]
    return run_tests(own, tables, coverage=coverage, mutate=mutate)
