"""``portcullis policy lint``: the files, and of an installation also resources, bindings, codes and roles."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.authz.engine.rules import PolicyError, PolicyFileError
from service.cli.lazy_commands import add_usual
from service.cli.output import say_text, show
from service.kernel.text import counted
from service.laboratory.findings.findings import FILE
from service.laboratory.reporting.linting import Linted, acceptances, lint, source_of
from service.operator import installation
from service.operator.errors import NoInstallationError

UNREADABLE = 2  # the exit status when the acceptances can't be read


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--accepted``, ``--files``, ``--data`` and ``--json``."""
    add_accepted(parser)
    add_files(parser)
    add_usual(parser)


def add_accepted(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--accepted",
        action="append",
        default=[],
        metavar="FILE",
        help=f"a file of accepted findings, besides {FILE} of the policy; may be given more than once",
    )


def add_files(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--files",
        action="store_true",
        help="read the policy files alone, also where there is an installation",
    )


def is_about_installation(options: Namespace, settings: table.Settings) -> bool:
    """Return whether to read an installation: unless ``--files`` was given, if there is one.

    NoInstallationError if ``--data`` names a folder without one, PolicyError for both options.
    """
    if options.files and options.data:
        raise PolicyFileError("--files reads no installation: leave out --data")
    if options.data and not installation.is_there(settings):
        raise NoInstallationError(installation.missing(settings))
    return not options.files and installation.is_there(settings)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Lint, and print the findings; returns 0 if all are accepted, 1 if not, 2 if that can't be said.

    Raises what ``is_about_installation`` raises, SchemaError and Unavailable.
    """
    settings = table.load(environ)
    stored = is_about_installation(options, settings)
    try:
        accepted = acceptances(settings, options.accepted)
    except PolicyError as error:
        say_text(f"portcullis: {error}", stream=sys.stderr)
        return UNREADABLE
    linted = lint(settings, accepted, stored=stored)
    show(options, linted, lambda: _lines(linted), source=source_of(settings, stored=linted.database))
    return 0 if linted.passed else 1


def _lines(linted: Linted) -> list[str]:
    left = [finding for finding in linted.findings if finding.accepted is None]
    where = "files and database" if linted.database else "files"
    accepted = f"{len(linted.findings) - len(left)} more are accepted"
    return [*map(str, left), f"{counted(len(left), 'finding')} in {where}; {accepted}."]
