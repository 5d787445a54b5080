"""Writes a state as reviewable YAML that every YAML parser reads alike."""

import re
from typing import Any, Final

import msgspec
import yaml

from service.features.policy_history.state import SECTIONS, TYPES, Item, Kind, MenuState, State
from service.features.policy_history.state_entries import FORMAT, OPTIONAL, members_of

_HEAD: Final = """\
# Roles, menus, resources and bindings of a Portcullis installation, without users and secrets.
# Written by "portcullis state export"; "portcullis state plan" compares it with the stored data,
# "portcullis state apply" makes what is stored equal to it.
#
# A Menu is known by the names of the Menus above it and its own, a Button and a role by its code, a resource
# by method and path: under another key it is another object. A resource opens to those who hold the code of
# any one of its buttons, and without buttons to everybody who is logged in, or to nobody if it is of another
# service and not opened. An opening may end: "@anyone until 2026-12-31T00:00:00Z"; from then on it is none.
"""
_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./:{}@ ()-]*")
# Words with a type other than text in YAML 1.1 or 1.2, in any case; PyYAML quotes only those of 1.1.
_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


class _Dumper(yaml.SafeDumper):
    """Indents the items of lists, and quotes every text that some parser could read as another type."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as called
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def as_yaml(state: State) -> str:
    """Return the content of a state file; equal states give equal files."""
    parts = [_HEAD, _yaml({"format": FORMAT})]
    for kind in TYPES:
        entries = {key: _entry(kind, item) for key, item in state.of(kind).items()}
        if SECTIONS[kind] in OPTIONAL and not entries:
            continue
        parts.append("\n" + _yaml({SECTIONS[kind]: entries}))
    return "".join(parts)


def _entry(kind: Kind, item: Item) -> dict[str, Any]:
    """Return the fields of ``item`` that differ from the defaults of omitted fields."""
    entry: dict[str, Any] = {}
    for member in members_of(kind):
        value = getattr(item, member.name)
        if value != member.default:
            entry[member.key] = msgspec.to_builtins(value)
    if isinstance(item, MenuState) and item.name is not None:
        del entry["name"]  # the key contains it
    return entry


def _yaml(content: dict[str, Any]) -> str:
    written: str = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31, default_flow_style=False
    )
    return written
