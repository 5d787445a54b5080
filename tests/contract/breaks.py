"""What breaks where one OpenAPI document takes the place of another, schema by schema and by operation."""

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
_WIDEST = 2**63 - 1
"""A bound that says what always was: a number that 64 bits don't hold was no answer but a fault (500)."""
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
        yield from self._open_values(old, new, place)
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

    def _open_values(self, old: Schema, new: Schema, place: str) -> Iterator[Break]:
        """Yield values of an enumeration that may grow, and parameters of its values, that are removed."""
        kept = set(new.get("x-extensible-enum", ()))
        for value in old.get("x-extensible-enum", ()):
            if value not in kept:
                yield Break(place, value, f"`{value}` is removed")
        named = new.get("x-parameters", {})
        for value, parameters in old.get("x-parameters", {}).items():
            for parameter in parameters:
                if value in kept and parameter not in named.get(value, ()):
                    yield Break(place, value, f"the parameter `{parameter}` of `{value}` is removed")

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
        if now == _WIDEST and was is None:
            continue
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


Document = Mapping[str, Any]
Operation = Mapping[str, Any]

_FIRST_PROBLEM = 400
_OPEN_TO = {"@anyone", "@login"}


def breaks(released: Document, current: Document) -> dict[Break, set[str]]:
    """Return what breaks for clients of ``released``, with the operations in which it does.

    An operation is named twice: by its id, and as ``PUT /api/user/{id}``.
    """
    changes: dict[Break, set[str]] = {}
    for name, old in _operations(released):
        method, _, path = name.partition(" ")
        new = current["paths"].get(path, {}).get(method.lower())
        for change in _Pair(released, current, old, new).breaks() if new else [_removed(old)]:
            changes.setdefault(change, set()).update({name, old["operationId"]})
    return dict(sorted(changes.items()))


def _operations(document: Document) -> Iterator[tuple[str, Operation]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _removed(old: Operation) -> Break:
    return Break(old["operationId"], old["operationId"], "the operation is removed")


class _Pair:
    """An operation of the released document, and what it is now."""

    def __init__(self, released: Document, current: Document, old: Operation, new: Operation) -> None:
        both = released["components"]["schemas"], current["components"]["schemas"]
        self._request = Comparison(*both, Direction.REQUEST)
        self._answer = Comparison(*both, Direction.ANSWER)
        self._problem = Comparison(*both, Direction.ANSWER, is_open=True)
        self._old, self._new = old, new
        self._place = old["operationId"]

    def breaks(self) -> Iterator[Break]:
        """Yield all that breaks."""
        if (now := self._new["operationId"]) != self._place:
            yield self._break(self._place, f"the id is `{now}`")
        yield from self._access()
        yield from self._parameters()
        yield from self._body()
        for status, answer in self._old["responses"].items():
            yield from self._answers(status, answer, self._new["responses"].get(status))

    def _break(self, name: str, what: str) -> Break:
        return Break(self._place, name, what)

    def _access(self) -> Iterator[Break]:
        was, now = ([set(way) for way in each.get("security", [])] for each in (self._old, self._new))
        if now and any(not any(way <= before for way in now) for before in was or [set()]):
            yield self._break(self._place, f"the security is {self._new['security']}")
        codes = set(self._new.get("x-permissions", ()))
        for code in () if codes & _OPEN_TO else self._old.get("x-permissions", ()):
            if code not in codes:
                yield self._break(code, f"`{code}` does not open it any more")

    def _parameters(self) -> Iterator[Break]:
        olds, news = (
            {(parameter["in"], parameter["name"]): parameter for parameter in each.get("parameters", ())}
            for each in (self._old, self._new)
        )
        for key, old in olds.items():
            where, name = key
            if (new := news.get(key)) is None:
                yield self._break(name, f"the {where} parameter `{name}` is removed")
                continue
            if new.get("required") and not old.get("required"):
                yield self._break(name, f"the {where} parameter `{name}` is required now")
            yield from self._request.breaks(old["schema"], new["schema"], self._place, name)
        for where, name in (key for key in news.keys() - olds.keys() if news[key].get("required")):
            yield self._break(name, f"the {where} parameter `{name}` is new and required")

    def _body(self) -> Iterator[Break]:
        old, new = (each.get("requestBody") for each in (self._old, self._new))
        if old and not new:
            yield self._break("requestBody", "no body is taken any more")
        if new and new.get("required") and not (old and old.get("required")):
            yield self._break("requestBody", "the body is required now")
        if old and new:
            yield from self._content(self._request, old["content"], new["content"])

    def _answers(self, status: str, old: Schema, new: Schema | None) -> Iterator[Break]:
        is_problem = int(status) >= _FIRST_PROBLEM
        if new is None:
            if not is_problem:
                yield self._break(status, f"the status `{status}` is removed")
            return
        for header in old.get("headers", {}).keys() - new.get("headers", {}).keys():
            yield self._break(header, f"the header `{header}` of {status} is removed")
        compared = self._problem if is_problem else self._answer
        yield from self._content(compared, old.get("content", {}), new.get("content", {}))

    def _content(self, compared: Comparison, old: Schema, new: Schema) -> Iterator[Break]:
        for kind, content in old.items():
            if kind in new:
                yield from compared.breaks(content["schema"], new[kind]["schema"], self._place, kind)
            else:
                yield self._break(kind, f"the media type `{kind}` is removed")
