"""``portcullis policy check``: model, lines and routes against one another; needs no store."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from service import settings as table
from service.app import check_routes
from service.authz.engine.rules import LAYERS
from service.authz.publishing.shipped import Shipped, configured
from service.cli.output import say
from service.laboratory.reporting.linting import acceptances, weakened


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--lines``."""
    parser.add_argument(
        "--lines",
        action="store_true",
        help="also print all lines of the files that are in force, by layer, as Casbin reads them",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> int:
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
    if options.lines:
        say(*lines_by_layer(shipped))
    return 1 if findings else 0


def lines_by_layer(shipped: Shipped) -> Iterator[str]:
    """Yield the lines of ``shipped`` as CSV, under a comment for each layer.

    Lines of features that are off are not among them.
    """
    for layer in LAYERS:
        lines = sorted(str(rule) for rule in shipped.rules if rule.layer == layer)
        if lines:
            yield f"# {layer}: {len(lines)}"
            yield from lines
