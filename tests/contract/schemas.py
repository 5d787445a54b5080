"""What breaks where one JSON schema takes the place of another.

Clients send what the released schema of a request allows, so the new one must allow it too. They read what
the released schema of an answer allows, so the new one must allow nothing else. In both cases each value of
a narrow schema must fit a wide one. Only keywords that the service uses are compared.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]

SCHEMAS = "#/components/schemas/"
_BOUNDS = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), 1),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), -1),
}
"""Keywords whose values narrow a schema when they grow, 1, or shrink, -1."""
_FORMS = ("pattern", "multipleOf", "uniqueItems")


class Direction(enum.Enum):
    """Who sends a value."""

    REQUEST = "clients"
    ANSWER = "the service"


@dataclass(frozen=True, order=True)
class Break:
    """A change that released clients may not survive."""

    place: str
    """The id of the operation, or the component, that has changed."""
    name: str
    """What of it: a parameter, a member, a value, a status; ``place`` itself if it is all of it."""
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True)
class Comparison:
    """Compares released schemas with current ones; each document has components of its own."""

    released: Schema
    current: Schema
    direction: Direction
    is_open: bool = False
    """True if answers may get further alternatives: clients know that new problem codes come."""
    _above: list[tuple[str, str]] = field(default_factory=list)

    def breaks(self, old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
        """Yield what breaks where ``old`` becomes ``new``: schemas of what ``place`` calls ``name``."""
        if self._sends and "default" in old and old["default"] != new.get("default"):
            was, now = json.dumps(old["default"]), json.dumps(new.get("default"))
            yield Break(place, name, f"the default of `{name}` is {now}, was {was}")
        olds, news = _alternatives(old, self.released), _alternatives(new, self.current)
        narrow, wide = (olds, news) if self._sends else (news, olds)
        for alternative in narrow:
            rivals = self._rivals(alternative, wide)
            if not rivals and len(narrow) == len(wide) == 1 and not self.is_open:
                rivals = wide
            if rivals:
                candidates = [list(self._pair(alternative, rival, place, name)) for rival in rivals]
                yield from min(candidates, key=len)
            elif not self.is_open:
                effect = "is no longer taken" if self._sends else "is new in answers"
                yield Break(place, name, f"`{name}`: {_title(alternative)} {effect}")

    @property
    def _sends(self) -> bool:
        return self.direction is Direction.REQUEST

    def _rivals(self, schema: Schema, others: list[Schema]) -> list[Schema]:
        """Return those of ``others`` that ``schema`` may stand for: of its name, or else of its type."""
        named = [other for other in others if "$ref" in schema and schema["$ref"] == other.get("$ref")]
        if named or self.is_open:
            return named
        return [other for other in others if other.get("type") == schema.get("type")]

    def _pair(self, narrow: Schema, wide: Schema, place: str, name: str) -> Iterator[Break]:
        old, new = (narrow, wide) if self._sends else (wide, narrow)
        if "$ref" not in old or "$ref" not in new:
            yield from self._same_kind(old, new, place, name)
        elif (pair := (old["$ref"], new["$ref"])) not in self._above:
            self._above.append(pair)
            yield from self._same_kind(old, new, _title(new), name)
            self._above.pop()

    def _same_kind(self, old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
        if others := list(self._types(old, new, place, name)):
            yield from others
            return
        yield from self._values(old, new, place, name)
        if self._sends:
            yield from _constraints(old, new, place, name)
        yield from self._members(old, new, place, name)
        if old.get("type") == new.get("type") == "array":
            yield from self.breaks(old.get("items", {}), new.get("items", {}), place, name)

    def _types(self, old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
        for keyword in ("type", "format"):
            was, now = old.get(keyword), new.get(keyword)
            narrow, wide = (was, now) if self._sends else (now, was)
            if wide is not None and narrow != wide and (narrow, wide) != ("integer", "number"):
                yield Break(place, name, f"the {keyword} of `{name}` is {now or 'any'}, was {was or 'any'}")
                return

    def _values(self, old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
        was, now = _enumerated(old), _enumerated(new)
        if now is None and was is None:
            return
        if was is None and now is not None and self._sends:
            yield Break(place, name, f"`{name}` takes no other value than {', '.join(map(str, now))}")
        elif now is None and was is not None and not self._sends:
            yield Break(place, name, f"`{name}` may be another value than {', '.join(map(str, was))}")
        elif was is not None and now is not None:
            gone, effect = (was, "is no longer taken") if self._sends else (now, "is a new value in answers")
            kept = now if self._sends else was
            for value in gone:
                if value not in kept:
                    yield Break(place, str(value), f"`{value}` {effect}")

    def _members(self, old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
        olds, news = old.get("properties", {}), new.get("properties", {})
        for member in olds.keys() - news.keys():
            yield Break(place, member, f"`{member}` is removed")
        for member in olds.keys() & news.keys():
            yield from self.breaks(olds[member], news[member], place, member)
        was, now = set(old.get("required", ())), set(new.get("required", ()))
        for member in now - was if self._sends else ():
            yield Break(place, member, f"`{member}` is required now")
        for member in (was - now) & news.keys() if not self._sends else ():
            yield Break(place, member, f"`{member}` may be missing now")
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self.breaks(before, after, place, name)
        elif self._sends and before is not False and after is False and old.get("type") == "object":
            yield Break(place, name, f"`{name}` takes no further members")


def _constraints(old: Schema, new: Schema, place: str, name: str) -> Iterator[Break]:
    for keyword, sign in _BOUNDS.items():
        was, now = old.get(keyword), new.get(keyword)
        if now is not None and (was is None or sign * now > sign * was):
            yield Break(place, name, f"`{keyword}` of `{name}` is {now}, was {was}")
    for keyword in _FORMS:
        if (now := new.get(keyword)) and now != (was := old.get(keyword)):
            yield Break(place, name, f"`{keyword}` of `{name}` is {now}, was {was}")


def _alternatives(schema: Schema, components: Schema) -> list[Schema]:
    """Return what ``schema`` allows any one of; each has its name as ``$ref`` if it has one."""
    if (reference := schema.get("$ref")) is not None:
        options = _alternatives(components[reference.removeprefix(SCHEMAS)], components)
        return [{**options[0], "$ref": reference}] if len(options) == 1 else options
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [option for each in schema[key] for option in _alternatives(each, components)]
    if isinstance(kinds := schema.get("type"), list):
        return [{**schema, "type": kind} for kind in kinds]
    return [schema]


def _enumerated(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _title(schema: Schema) -> str:
    return str(schema.get("$ref", schema.get("type", "any"))).removeprefix(SCHEMAS)
