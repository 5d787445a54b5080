"""``portcullis policy check``: model, lines and routes against one another; needs no store."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

from service import settings as table
from service.app import check_routes
from service.authz.engine.rules import LAYERS
from service.authz.publishing.demand_table import LEVELS, TABLE, as_table
from service.authz.publishing.demands import all_lines, former_files, levels_of
from service.authz.publishing.shipped import Shipped, configured, policy_folder
from service.cli.output import say, say_text
from service.laboratory.reporting.linting import acceptances, weakened


def add_arguments(parser: ArgumentParser) -> None:
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument(
        "--lines",
        action="store_true",
        help="also print all lines of the files that are in force, by layer; any Casbin reads the output",
    )
    printed.add_argument(
        "--table",
        action="store_true",
        help=f"check nothing, and print the demands of all values of policy.assurance as {TABLE}",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Check the static policy and print its digest; raises ``PolicyError`` and ``RoutesError``.

    Returns 1 if a line is weaker than the shipped line or breaks a statement, and the operator has not
    accepted that; else 0. The demands of every value of ``policy.assurance`` count. With ``--table``, prints
    only the table.
    """
    settings = table.load(environ)
    if options.table:
        say_text(demand_table(settings.policy.folder))
        return 0
    shipped = configured(settings)
    check_routes(shipped)
    findings = weakened(settings, acceptances(settings, ()))
    sentences = [
        *map(str, findings),
        *_way_to_the_table(policy_folder(settings.policy.folder)),
        f"The model and {shipped.counted} lines are {'not ' if findings else ''}in order.",
        f"The digest of this static policy is {shipped.digest}.",
    ]
    if options.lines:
        say(*(f"# {sentence}" for sentence in sentences), *lines_by_layer(shipped))
    else:
        say(*sentences)
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


def demand_table(folder: Path | None) -> str:
    """Return the demands of a policy folder as the text of a table; None is the shipped folder.

    A value of ``policy.assurance`` without a former file has the shipped demands, and a comment says so.
    Raises PolicyError if the demands can't be read, or if an object has some for a part of the values.
    """
    place = policy_folder(folder)
    absent = [level for level in LEVELS if level not in levels_of(place)]
    notes = [f"# {level}: there was no file; these are the shipped demands.\n" for level in absent]
    return "".join((*notes, as_table(all_lines(place, policy_folder(None))))).rstrip("\n")


def _way_to_the_table(folder: Path) -> Iterator[str]:
    """Yield the way to the table if the demands of ``folder`` are in the former files."""
    if former := former_files(folder):
        names = ", ".join(path.name for path in former)
        yield (
            f"The demands are in {names} of {former[0].parent}, the form of development versions. To move to "
            "the table, save the output of `portcullis policy check --table` in another place, remove these "
            f"files, and put the output into {folder} as {TABLE}."
        )
