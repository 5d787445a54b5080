"""``portcullis policy test``: decision tables and invariants of files, or the published policy."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.authz.engine.rules import PolicyError, PolicyFileError
from service.cli.lazy_commands import add_usual
from service.cli.output import say_text, show
from service.laboratory.tested import as_lines, tested

UNREADABLE = 2  # the exit status when there is nothing that could be tested


def add_arguments(parser: ArgumentParser) -> None:
    """Add the paths of tables, and what to find out beside their results."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="decision tables, or folders of them; else the policy's own"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="list lines and matcher rows that no case depends on"
    )
    parser.add_argument(
        "--mutate", action="store_true", help="list faults of lines and matcher that no case would detect"
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="in place of tables: load the published lines with a plain Casbin, and compare all answers",
    )
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Test, and print the result; returns 0 if all holds, 1 if not, 2 if files can't be read.

    With ``--published``, raises also SchemaError and Unavailable.
    """
    if options.published:
        return _published(options, environ)
    settings = table.load(environ)
    try:
        report = tested(settings, options.paths, coverage=options.coverage, mutate=options.mutate)
    except PolicyError as error:
        say_text(f"portcullis: {error}", stream=sys.stderr)
        return UNREADABLE
    show(options, report, lambda: as_lines(report))
    return 0 if report.passed else 1


def _published(options: Namespace, environ: Mapping[str, str]) -> int:
    """Compare, and print the result; returns 0 if all answers agree, else 1. Raises PolicyError."""
    from service.laboratory.reporting.published import published_test
    from service.operator.installation import name_of

    if options.paths or options.coverage or options.mutate:
        raise PolicyFileError("--published cannot be combined with paths, --coverage or --mutate")
    settings = table.load(environ)
    result = published_test(settings)
    show(options, result, lambda: str(result).split("\n"), source=name_of(settings))
    return 1 if result.disagreements else 0
