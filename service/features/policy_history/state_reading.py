"""Reads a state file strictly; reports all faults with line and place in the file."""

import time
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Final, get_origin

import msgspec
from msgspec import UNSET

from service.administration.menu_edits import MAX_DEPTH
from service.authz.engine.paths import registered_fault
from service.features.policy_history import state as states
from service.features.policy_history.state_edits import clashes
from service.features.policy_history.state_entries import FORMAT, OPTIONAL, members_of
from service.kernel.codes import MOST_LINKED, is_code
from service.kernel.fields import ITS_TYPE, Rule
from service.kernel.services import PORTCULLIS, has_ended, is_opening_word, is_other_service, split_object
from service.kernel.text import printable
from service.kernel.type_faults import type_faults
from service.kernel.value_rules import METHOD
from service.laboratory.strict_yaml import Document, Keys, YamlError, read_yaml
from service.records.roles import RoleCode

_ENDING: Final = "@anyone until 2026-12-31T00:00:00Z"


def read_state(path: Path) -> states.State:
    """Return the state in the file at ``path``; raises YamlError with all its faults."""
    return read_state_file(path)[0]


def read_state_file(path: Path) -> tuple[states.State, str]:
    """Return the result of ``read_state``, and the SHA-256 of the file, in hexadecimal."""
    document = read_yaml(path, Any)
    return _Reader(document).state(), document.digest


class _Reader:
    """Reads one document."""

    def __init__(self, document: Document[Any]) -> None:
        self._document = document
        self._faults: list[tuple[int, str]] = []
        self._items: dict[states.Kind, dict[str, states.Item]] = {kind: {} for kind in states.TYPES}
        self._keys: dict[states.Kind, set[str]] = {kind: set() for kind in states.TYPES}

    def state(self) -> states.State:
        content = self._top()
        for kind in states.TYPES:
            self._keys[kind] = {key for key in self._section(content, kind) if isinstance(key, str)}
        for kind in states.TYPES:
            for key, entry in self._section(content, kind).items():
                self._object(kind, key, entry)
        self._check_clashes()
        if self._faults:
            raise YamlError(*(text for _, text in sorted(self._faults)))
        return states.state_of(self._items)

    def _top(self) -> Mapping[Any, Any]:
        content = self._document.value
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            line = ("format",) if isinstance(content, dict) else ()
            raise YamlError(
                f"{self._document.place(*line)}: format must be {FORMAT}: the only one that is known"
            )
        sections = set(states.SECTIONS.values())
        for key in content:
            if key not in sections | {"format"}:
                self._fault((str(key),), "there is no such section")
        for name in states.SECTIONS.values():
            if name in OPTIONAL and name not in content:
                continue
            if not isinstance(content.get(name), dict):
                self._fault((name,), "is required, and must be a mapping; write {} if it is empty")
        return content

    def _section(self, content: Mapping[Any, Any], kind: states.Kind) -> Mapping[Any, Any]:
        section = content.get(states.SECTIONS[kind])
        return section if isinstance(section, dict) else {}

    def _object(self, kind: states.Kind, key: Any, entry: Any) -> None:
        place = (states.SECTIONS[kind], str(key))
        if not isinstance(key, str):
            self._fault(place, "is not a text here: put the key in quotes")
            return
        before = len(self._faults)
        self._check_key(kind, key, place)
        values = self._values(kind, entry, place)
        self._check_values(kind, values, place)
        if kind == "menu" and (parsed := states.parsed_segment(states.last(key))) is not None:
            self._name(parsed[0], values, place)
        if len(self._faults) == before:
            self._items[kind][key] = states.TYPES[kind][0](**values)

    def _check_key(self, kind: states.Kind, key: str, place: Keys) -> None:
        match kind:
            case "menu":
                self._check_menu_key(key, place)
            case "button":
                if not is_code(key):
                    self._fault(place, "is no permission code")
            case "resource":
                self._check_resource_key(key, place)
            case "service":
                if not is_other_service(key):
                    self._fault(place, "is not the name of another service")
            case "role":
                self._converted(key, RoleCode, place, ITS_TYPE)

    def _check_resource_key(self, key: str, place: Keys) -> None:
        service, route = split_object(key)
        method, _, path = route.partition(" ")
        external = service != PORTCULLIS
        if external and service not in self._keys["service"]:
            self._fault(place, f"there is no service {printable(service)} in this file")
        elif METHOD(method):
            self._fault(place, f"must start with one of {', '.join(METHOD.choices)}")
        elif fault := registered_fault(path, may_end_in_slash=external):
            self._fault(place, fault)

    def _check_menu_key(self, key: str, place: Keys) -> None:
        parsed = states.parsed_segment(states.last(key))
        parent = states.above(key)
        if parsed is None:
            self._fault(place, "each part must be a name, with % / # written as %25 %2F %23, and maybe #2")
        elif parsed[1] > 1:
            previous = states.segment_of(parsed[0], parsed[1] - 1)
            before = previous if parent is None else f"{parent}/{previous}"
            if before not in self._keys["menu"]:
                self._fault(place, f"the entry {printable(before)} must come before it")
        if parent is not None and parent not in self._keys["menu"]:
            self._fault(place, f"the Menu {printable(parent)} above it is missing")
        if key.count("/") >= MAX_DEPTH:
            self._fault(place, f"the tree has at most {MAX_DEPTH} levels")

    def _values(self, kind: states.Kind, entry: Any, place: Keys) -> dict[str, Any]:
        """Return the valid fields of ``entry``, by the names of the state's fields."""
        if not isinstance(entry, dict):
            self._fault(place, "must be a mapping")
            return {}
        known = {member.key: member for member in members_of(kind)}
        values: dict[str, Any] = {}
        for name in entry:
            if name not in known:
                self._fault((*place, str(name)), "there is no such field")
        for name, member in known.items():
            here = (*place, name)
            if name in entry and get_origin(member.kind) is tuple:
                values[member.name] = self._list(name, entry[name], here)
            elif name in entry:
                values[member.name] = self._converted(entry[name], member.kind, here, member.rule)
            elif member.default is MISSING:
                self._fault(here, "is required")
            else:
                values[member.name] = member.default
        return values

    def _list(self, name: str, given: Any, place: Keys) -> tuple[str, ...]:
        if not isinstance(given, list):
            self._fault(place, "must be a list; [] if there is nothing in it")
            return ()
        if len(given) > MOST_LINKED:
            self._fault(place, f"must have at most {MOST_LINKED} entries")
            return ()
        target: states.Kind = "menu" if name == "menus" else "button"
        seen: set[str] = set()
        for number, entry in enumerate(given):
            here = (*place, number)
            if not isinstance(entry, str):
                self._fault(here, "is not a text here: put it in quotes")
                continue
            if entry in seen:
                self._fault(here, f"{printable(entry)} is in the list already")
            elif entry not in self._keys[target]:
                self._fault(here, f"there is no {target.capitalize()} {printable(entry)} in this file")
            seen.add(entry)
        return tuple(states.ordered(target, seen))

    def _check_values(self, kind: states.Kind, values: dict[str, Any], place: Keys) -> None:
        if kind == "button" and isinstance(menu := values.get("menu"), str):
            if menu not in self._keys["menu"]:
                self._fault((*place, "menu"), f"there is no Menu {printable(menu)} in this file")
            elif menu.count("/") + 2 > MAX_DEPTH:
                self._fault((*place, "menu"), f"the tree has at most {MAX_DEPTH} levels")
        own = kind == "resource" and split_object(str(place[-1]))[0] == PORTCULLIS
        if own and values.get("opened") is not None:
            self._fault((*place, "opened"), "only resources of other services can be opened")
        if isinstance(opened := values.get("opened"), str):
            if not is_opening_word(opened):
                self._fault((*place, "opened"), f"is @login or @anyone, or such as {_ENDING!r}")
            elif has_ended(opened, time.time()):
                values["opened"] = None

    def _name(self, part: str, values: dict[str, Any], place: Keys) -> None:
        """Set the name of a Menu in ``values``: ``part``, the last part of its key, is its name or title."""
        name = values.get("name")
        if name is UNSET:
            (named,) = (member for member in members_of("menu") if member.name == "name")
            values["name"] = self._converted(part, named.kind, place, named.rule)
        elif name is None and values.get("title") not in (None, part):
            self._fault((*place, "title"), "must be the last part of the key of a Menu without a name")
        elif name is not None and name != part:
            self._fault((*place, "name"), "must be the last part of the key: leave it out")

    def _check_clashes(self) -> None:
        """Report objects that can't be stored together."""
        for kind, key, reason in clashes(states.state_of(self._items), self._keys["resource"]):
            self._fault((states.SECTIONS[kind], key), reason)

    def _converted(self, value: Any, type_: Any, place: Keys, rule: Rule) -> Any:
        try:
            converted = msgspec.convert(value, type_)
        except msgspec.ValidationError:
            for keys, reason in type_faults(value, type_):
                self._fault((*place, *keys), reason)
            return None
        if converted is not None and (fault := rule(converted)):
            self._fault(place, fault)
            return None
        return converted

    def _fault(self, place: Keys, reason: str) -> None:
        where = self._document.place(*place)
        named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)[1:]
        self._faults.append((int(where.rpartition(":")[2]), f"{where}: {printable(named)}: {reason}"))
