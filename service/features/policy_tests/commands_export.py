"""``portcullis policy export DIR``: the published policy as files for any Casbin."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from service import settings as table
from service.audit.seals import seals_of
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.laboratory.analysis.sources import export
from service.operator.database import with_database
from service.operator.stores import reachable
from service.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("folder", metavar="DIR", help="where model.conf and policy.csv go")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Export, and print what was written; raises what ``export_policy`` raises."""
    with reachable(table.load(environ)) as settings:
        say(export_policy(settings, Path(options.folder)))


def export_policy(settings: Settings, folder: Path) -> str:
    """Write the published policy into ``folder``; return a summary for the operator.

    Raises ``PolicyError`` if none was published or it does not fit this model, ``SchemaError``,
    ``Unavailable``, and OSError for the folder.
    """
    live = LivePolicy(configured(settings), seals_of(settings.oplog))
    with_database(settings, live.load)
    model, lines = export(live.current, folder)
    count = len(live.current.rules)
    return f"Revision {live.current.revision}: {model} and {count} lines in {lines}."
