"""Commands whose module is imported when they are run, or when their own help is asked for.

So ``portcullis --help`` imports none of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from service.installation import check_installation

Run: TypeAlias = Callable[[argparse.Namespace, Mapping[str, str]], int | None]
Parts: TypeAlias = Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], Run]]
"""The commands of a module by name: what adds the arguments of each, and what runs it."""


class Command(NamedTuple):
    """A command: its name, such as ``what-if``, one line of help, and its module if that has another name."""

    name: str
    help: str
    module: str = ""


class Family(NamedTuple):
    """Commands of one matter: the first word of each, and one line of help."""

    name: str
    help: str
    commands: tuple[Command, ...]


class CommandParser(argparse.ArgumentParser):
    """Parses the arguments of one command; its module is imported when there is something to parse.

    The module has ``add_arguments(parser)``, and ``run(options, environ)``, which returns the exit status or
    None for 0; or it has both for each of several commands, in ``COMMANDS``.
    """

    def __init__(self, *args: Any, module: str = "", command: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._module, self._command = module, command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse ``args``; ``run`` of the result is what runs the command. Raises ``InstallationError``."""
        self.load()
        return super().parse_known_args(args, namespace)

    def load(self) -> None:
        """Add the arguments of the command, if they are not there yet.

        Raises ``InstallationError`` before the import, which could fail in some confusing way.
        """
        if self._module:
            check_installation()
            module = import_module(self._module)
            self._module = ""
            several: Parts | None = getattr(module, "COMMANDS", None)
            add, run = (module.add_arguments, module.run) if several is None else several[self._command]
            add(self)
            self.set_defaults(run=run)


def add_commands(parser: argparse.ArgumentParser, family: Family) -> None:
    """Add to ``parser`` the commands of ``family``."""
    parsers = parser.add_subparsers(dest="action", required=True, parser_class=CommandParser)
    for name, text, module in family.commands:
        last = module or f"{family.name}_{name.replace('-', '_')}"
        add_command(parsers.add_parser, name, text, f"{__package__}.{last}")


def add_command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, text: str, module: str
) -> None:
    """Add the command ``name`` of ``module``, by ``add_parser`` of its siblings' parsers."""
    add_parser(name, help=text, description=_sentence(text), module=module, command=name)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, for commands that read or change what is stored."""
    parser.add_argument("--data", metavar="DIR", help="the data directory")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")
