"""Commands whose modules are imported only to run them or to print their help.

So ``portcullis --help`` imports none of them. Features bring them: a new command is a file of a feature's
folder, and a line of its ``feature.py``. Its module has ``add_arguments`` and ``run``, or ``COMMANDS``.
"""

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

from service.installation import check_installation
from service.kernel.feature import declared, insert_after

Run: TypeAlias = Callable[[argparse.Namespace, Mapping[str, str]], int | None]
Parts: TypeAlias = Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], Run]]
"""The commands of a module by name: what adds the arguments of each, and what runs it."""


class Command(NamedTuple):
    """A command: its name, such as ``what-if``, one line of help, and the dotted name of its module.

    ``feature`` names the one that it belongs to, if that can be off.
    """

    name: str
    help: str
    module: str
    feature: str = ""


class Family(NamedTuple):
    """Commands of one matter, which features bring: the first word of each, and one line of help."""

    name: str
    help: str


class CommandParser(argparse.ArgumentParser):
    """Parses the arguments of one command; its module is imported when there are arguments to parse.

    The module has ``add_arguments(parser)``, and ``run(options, environ)``, which returns the exit status, or
    None for 0. A module of several commands has both for each of them, in ``COMMANDS``.
    """

    def __init__(
        self, *args: Any, module: str = "", command: str = "", feature: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._module, self._command = module, command
        self._feature = feature

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
            self.set_defaults(run=run, feature=self._feature)


def add_commands(parser: argparse.ArgumentParser, family: Family) -> None:
    """Add to ``parser`` the commands that features bring to ``family``."""
    parsers = parser.add_subparsers(dest="action", required=True, parser_class=CommandParser)
    listed: list[Command] = []
    _insert_brought(listed, family.name)
    for command in listed:
        add_command(parsers.add_parser, *command)


def add_command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, text: str, module: str, feature: str = ""
) -> None:
    """Add the command ``name`` of ``module``, by ``add_parser`` of its siblings' parsers.

    ``feature`` names the one that the command belongs to, if it can be off.
    """
    add_parser(name, help=text, description=_sentence(text), module=module, command=name, feature=feature)


def families() -> tuple[Family, ...]:
    """Return all families of commands; those that features bring stand behind the one that each names."""
    listed = [*FAMILIES]
    for feature in declared():
        for added in feature.commands:
            if added.family and added.family not in {family.name for family in listed}:
                insert_after(listed, Family(added.family, added.help), added.after)
    return tuple(listed)


def add_brought(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands that features bring and that stand in no family."""
    listed: list[Command] = []
    _insert_brought(listed, "")
    for command in listed:
        add_command(add_parser, *command)


def _insert_brought(listed: list[Command], family: str) -> None:
    """Put the commands that features bring to ``family`` into its list."""
    for feature in declared():
        for added in feature.commands:
            if added.family != family:
                continue
            switch = feature.name if feature.off and not added.apart else ""
            after = added.after
            for name, text, module in added.commands:
                command = Command(name, text, feature.module(module), switch)
                if after and after == family:
                    listed.insert(0, command)
                else:
                    insert_after(listed, command, after)
                if after:
                    after = name


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, for commands that read or change stored data."""
    parser.add_argument("--data", metavar="DIR", help="the data directory")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def add_usual(parser: argparse.ArgumentParser) -> None:
    """Add ``--data`` and ``--json``, for commands that answer questions about stored data."""
    add_data(parser)
    add_json(parser)


FAMILIES: Final = (Family("policy", "the policy"),)
"""The families that several features bring commands to: ``portcullis policy …``."""
