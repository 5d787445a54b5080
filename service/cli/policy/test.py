"""``portcullis policy test``: decision tables and invariants; reads files only."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.authz.engine.errors import PolicyError
from service.cli.lazy_commands import add_json
from service.cli.output import show
from service.laboratory.tested import as_text
from service.reporting.tested import tested

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
