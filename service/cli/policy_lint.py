"""``portcullis policy lint``: the files, and with a database also resources, bindings, codes and roles."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.authz.engine.rules import PolicyError
from service.authz.review.findings import FILE
from service.cli.lazy_commands import add_usual
from service.cli.output import say_text, show
from service.kernel.text import counted
from service.reporting.linting import Linted, acceptances, lint

UNREADABLE = 2  # the exit status when the acceptances can't be read


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--accepted``, ``--data`` and ``--json``."""
    add_accepted(parser)
    add_usual(parser)


def add_accepted(parser: ArgumentParser) -> None:
    """Add ``--accepted``."""
    parser.add_argument(
        "--accepted",
        action="append",
        default=[],
        metavar="FILE",
        help=f"a file of accepted findings, besides {FILE} of the policy; may be given more than once",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Lint, and print the findings; returns 0 if all are accepted, 1 if not, 2 if that can't be said.

    The database is looked at if ``--data`` or the settings name one; raises SchemaError and Unavailable.
    """
    settings = table.load(environ)
    try:
        accepted = acceptances(settings, options.accepted)
    except PolicyError as error:
        say_text(f"portcullis: {error}", stream=sys.stderr)
        return UNREADABLE
    linted = lint(settings, accepted, stored=bool(settings.database.url or options.data))
    show(options, linted, lambda: _lines(linted))
    return 0 if linted.passed else 1


def _lines(linted: Linted) -> list[str]:
    left = [finding for finding in linted.findings if finding.accepted is None]
    where = "files and database" if linted.database else "files"
    accepted = f"{len(linted.findings) - len(left)} more are accepted"
    return [*map(str, left), f"{counted(len(left), 'finding')} in {where}; {accepted}."]
