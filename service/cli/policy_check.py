"""``portcullis policy check``: model, lines and routes against one another; needs no store."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.app import check_routes
from service.authz.publishing.shipped import configured
from service.cli.output import say


def add_arguments(_parser: ArgumentParser) -> None:
    """Add nothing."""


def run(_options: Namespace, environ: Mapping[str, str]) -> None:
    """Check, and print the digest of the static policy; raises ``PolicyError`` and ``RoutesError``."""
    shipped = configured(table.load(environ).policy)
    check_routes(shipped)
    say(f"The model and {shipped.counted} lines are in order.")
    say(f"The digest of this static policy is {shipped.digest}.")
