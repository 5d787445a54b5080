"""``portcullis policy check``: model, lines and routes against one another; needs no store."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.app import check_routes
from service.authz.publishing.shipped import configured
from service.cli.output import say
from service.reporting.linting import acceptances, weakened


def add_arguments(_parser: ArgumentParser) -> None:
    """Add nothing."""


def run(_options: Namespace, environ: Mapping[str, str]) -> int:
    """Check, and print the digest of the static policy; raises ``PolicyError`` and ``RoutesError``.

    Returns 1 if a line of any file of demands is weaker than the shipped one, or breaks a statement, and
    nobody has accepted that.
    """
    settings = table.load(environ)
    shipped = configured(settings)
    check_routes(shipped)
    findings = weakened(settings, acceptances(settings, ()))
    say(*map(str, findings))
    say(f"The model and {shipped.counted} lines are {'not ' if findings else ''}in order.")
    say(f"The digest of this static policy is {shipped.digest}.")
    return 1 if findings else 0
