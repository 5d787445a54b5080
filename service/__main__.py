"""The command line of the service."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from service import __version__
from service.cli.endings import UNREAD, flushed, in_words
from service.cli.lazy_commands import (
    CommandParser,
    add_brought,
    add_commands,
    add_data,
    families,
)
from service.installation import InstallationError, check_installation
from service.kernel.structlog_alone import leave_rich_out
from service.kernel.text import OptionValue

_SETTINGS = {
    "host": "PORTCULLIS_SERVER__HOST",
    "port": "PORTCULLIS_SERVER__PORT",
    "workers": "PORTCULLIS_SERVER__WORKERS",
    "data": "PORTCULLIS_SERVER__DATA",
    "migrate": "PORTCULLIS_DATABASE__MIGRATE",
}


# Imports leave hardly any garbage. Looking for it takes a fifth of their time, and a tenth after every 50,000
# of the 150,000 objects that they make.
_COLLECT_AFTER = 300_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in ``arguments``; return the exit status: 0, 1 for an error, 2 for bad arguments."""
    gc.set_threshold(_COLLECT_AFTER)
    leave_rich_out()
    try:
        with flushed():
            return _run(arguments)
    except BrokenPipeError:  # as in: portcullis policy log | head
        return UNREAD
    except OSError as error:
        with suppress(OSError):
            print(f"portcullis: {in_words(error)}", file=sys.stderr)
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(arguments)
        if not hasattr(options, "run"):  # else it has been checked, before the command was imported
            check_installation()
    except InstallationError as fault:
        print(f"portcullis: {fault}", file=sys.stderr)
        return 1
    # Only now: in a mixed installation these imports could fail in some confusing way.
    from service.cli.commands import run  # noqa: PLC0415

    return run(options, {**os.environ, **_given(options)})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="portcullis", description="An administration service guarded by Casbin."
    )
    parser.add_argument("--version", action="version", version=f"portcullis {__version__}")
    commands = parser.add_subparsers(
        dest="family", metavar="COMMAND", required=True, parser_class=CommandParser
    )

    serve = commands.add_parser("serve", help="run the service")
    add_data(serve)
    serve.add_argument("--host", metavar="H", help="the address to listen on")
    serve.add_argument("--port", metavar="N", help="the TCP port; 0 takes any free one")
    serve.add_argument("--workers", metavar="N", help="worker processes")
    serve.add_argument(
        "--no-migrate",
        dest="migrate",
        action="store_const",
        const="false",
        help="do not migrate the schema; refuse to start on an outdated one",
    )
    commands.add_parser("settings", help="print the table of settings")

    for family in families():
        add_commands(commands.add_parser(family.name, help=family.help), family)
    add_brought(commands.add_parser)
    return parser


def _given(options: argparse.Namespace) -> dict[str, str]:
    """Return the options of the command line as the variables of their settings."""
    given = {name: getattr(options, name, None) for name in _SETTINGS}
    if data := given["data"]:
        with suppress(RuntimeError):  # the user has no home: the settings require a full path
            given["data"] = str(Path(data).expanduser())
    # A fault of an option's value names the option, since its variable is not set.
    return {
        _SETTINGS[name]: OptionValue(value, "--no-migrate" if name == "migrate" else f"--{name}")
        for name, value in given.items()
        if value is not None
    }


if __name__ == "__main__":
    sys.exit(main())
