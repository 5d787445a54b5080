"""The command line as Markdown, for docs/reference."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from service.__main__ import _parser
from service.cli.lazy_commands import CommandParser


def markdown() -> str:
    """Return a section for each command: what it does, and its arguments and options."""
    return "\n".join(_section(parser, text) for parser, text in _commands(_parser()))


def _commands(
    parser: argparse.ArgumentParser, text: str = ""
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield each command below ``parser`` that has none below itself, with its line of help."""
    if isinstance(parser, CommandParser):
        parser.load()
    families = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not families:
        yield parser, text
    for family in families:
        helps = {action.dest: action.help or "" for action in family._choices_actions}
        for name, below in family.choices.items():
            yield from _commands(below, helps.get(name, ""))


def _section(parser: argparse.ArgumentParser, text: str) -> str:
    actions = [action for action in parser._actions if "--help" not in action.option_strings]
    lines = [f"## {parser.prog}", "", f"{text[:1].upper()}{text[1:]}.", ""]
    if actions:
        lines += ["| Argument | What it is |", "| --- | --- |"]
        lines += [f"| {_name(action)} | {_described(action)} |" for action in actions]
        lines.append("")
    return "\n".join(lines)


def _name(action: argparse.Action) -> str:
    given = action.metavar or action.dest.upper()
    value = given if isinstance(given, str) else " ".join(given)
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`" + (", optional" if action.nargs in ("?", "*") else "")
    option = action.option_strings[-1]
    if action.choices is not None:
        return f"`{option}`: {' or '.join(map(str, action.choices))}"
    return f"`{option}`" if action.nargs == 0 else f"`{option} {value}`"


def _described(action: argparse.Action) -> str:
    text = (action.help or "").replace("|", "\\|").replace("%%", "%")
    if action.required and action.option_strings:
        text += " (required)"
    return text
