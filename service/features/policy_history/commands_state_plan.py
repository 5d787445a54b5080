"""``portcullis state plan FILE``: the effects of applying a file; saves nothing and takes no locks."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from service import settings as table
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import say_text, show
from service.features.policy_history import state_planning
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_report import as_lines, as_markdown, plan_report
from service.operator.database import with_database
from service.operator.stores import reachable

DIFFERS = 2
"""The exit status if there are differences to apply."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file, and how the plan is shown."""
    add_data(parser)
    parser.add_argument("file", metavar="FILE", help="a file that portcullis state export has written")
    parser.add_argument(
        "--prune", action="store_true", help="include objects that apply --prune would delete"
    )
    shown = parser.add_mutually_exclusive_group()
    add_json(shown)
    shown.add_argument("--markdown", action="store_true", help="as Markdown, for a pull request")


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Show the plan; return 2 if there is a difference, 0 if there is none, 1 if it can't be applied.

    Raises ``YamlError`` with all faults of the file, ``PolicyError``, ``SchemaError``, ``Conflict`` and
    ``Unavailable``.
    """
    state = read_state(Path(options.file))
    with reachable(table.load(environ)) as settings:
        shipped = configured(settings)
        proposed = with_database(
            settings, lambda database: state_planning.plan(database, shipped, state, prune=options.prune)
        )
    if options.markdown:
        say_text(as_markdown(proposed))
    else:
        show(options, plan_report(proposed), lambda: as_lines(proposed))
    if proposed.refused:
        return 1
    return DIFFERS if proposed.edits else 0
