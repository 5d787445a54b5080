"""SCIM filters (RFC 7644 §3.4.2.2, with errata 4670, 4690 and 7322): parsed, and applied to a resource.

A filter is parsed against a schema. An undeclared attribute, and an operator or a value that its attribute
does not take, are ``invalidFilter``. Ignoring them would let a filter match too much.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args
from unicodedata import normalize

from msgspec import Struct

from service.features.scim.attributes import Attribute, Schema, ScimFault, ScimType
from service.kernel.text import name_key

Operator = Literal["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]
Value: TypeAlias = str | bool | int | float | datetime | None

MAX_LENGTH: Final = 4000
"""The maximum length of a filter in characters."""
MAX_DEPTH: Final = 32
"""The greatest depth of nested expressions."""


class Place(Struct, frozen=True):
    """The subject of an expression: an attribute, or its sub-attribute ``part``."""

    attribute: Attribute
    part: Attribute | None = None

    @property
    def last(self) -> Attribute:
        """The attribute whose value is compared."""
        return self.part or self.attribute

    @property
    def name(self) -> str:
        """The name of the attribute, such as ``emails.value``."""
        return self.attribute.name + (f".{self.part.name}" if self.part else "")


class Comparison(Struct, frozen=True):
    """``userName eq "heron"``."""

    place: Place
    operator: Operator
    value: Value


class Present(Struct, frozen=True):
    """``externalId pr``."""

    place: Place


class Not(Struct, frozen=True):
    """``not (…)``."""

    term: "Filter"


class Both(Struct, frozen=True):
    """``… and …``."""

    terms: tuple["Filter", ...]


class Either(Struct, frozen=True):
    """``… or …``."""

    terms: tuple["Filter", ...]


class Within(Struct, frozen=True):
    """``emails[type eq "work"]``: the places of ``term`` are sub-attributes of the attribute."""

    attribute: Attribute
    term: "Filter"


Filter: TypeAlias = Comparison | Present | Not | Both | Either | Within
Find: TypeAlias = Callable[[str], Place | None]

_NAME: Final = r"[A-Za-z$][A-Za-z0-9_$-]*"
_TOKEN: Final = re.compile(
    rf"""[ \t\r\n\f]*(?:
    (?P<text>"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{{4}})*")
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_$.-])
    |(?P<path>(?:urn:[A-Za-z0-9()+,\-.:=@;$_!*'%/?\#]+:)?{_NAME}(?:\.{_NAME})?)
    |(?P<sign>[()\[\]]|\.(?={_NAME}))
    |(?P<end>\Z))""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")
_STRINGS: Final = frozenset({"co", "sw", "ew"})
_ORDERS: Final = frozenset({"gt", "ge", "lt", "le"})
_CONSTANTS: Final[Mapping[str, Value]] = {"true": True, "false": False, "null": None}


def place_in(schema: Schema, path: str) -> Place | None:
    """Return the attribute that ``path`` names in ``schema``, with or without its URN; None if undeclared."""
    plain = schema.unqualified(path)
    if plain is None:
        return None
    first, _, second = plain.partition(".")
    attribute = schema.attribute(first)
    if attribute is None or not second:
        return None if attribute is None else Place(attribute)
    part = attribute.part(second)
    return None if part is None else Place(attribute, part)


class Parser:
    """Parses one text by recursive descent."""

    def __init__(self, text: str, schema: Schema, fault: ScimType = "invalidFilter") -> None:
        self._fault: ScimType = fault
        if len(text) > MAX_LENGTH:
            raise self.refused(f"It has more than {MAX_LENGTH} characters")
        self._text = text
        self._schema = schema
        self._at = 0
        self._depth = 0
        self.kind, self.token = "", ""
        self._next()

    def refused(self, why: str) -> ScimFault:
        """Return the fault of an invalid text."""
        return ScimFault(self._fault, why)

    def filter(self, find: Find | None = None) -> Filter:
        """Parse an expression; ``find`` resolves the names, by default those of the schema."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.refused(f"It nests more than {MAX_DEPTH} expressions")
        terms = [self._conjunction(find)]
        while self._word("or"):
            terms.append(self._conjunction(find))
        self._depth -= 1
        return terms[0] if len(terms) == 1 else Either(tuple(terms))

    def within(self, attribute: Attribute) -> Filter:
        """Parse the expression in brackets, about the sub-attributes of ``attribute``."""
        self.take("[")
        if not attribute.many:
            raise self.refused(f"{attribute.name} has no values to choose from")

        def part(name: str) -> Place | None:
            known = attribute.part(name)
            return None if known is None else Place(known)

        term = self.filter(part)
        self.take("]")
        return term

    def path(self) -> str:
        """Parse a name."""
        if self.kind != "path":
            raise self.refused(f"A name is missing{self._where()}")
        return self._taken()

    def take(self, sign: str) -> None:
        """Consume ``sign``."""
        if not self.at(sign):
            raise self.refused(f"{sign} is missing{self._where()}")
        self._next()

    def at(self, sign: str) -> bool:
        """Return whether ``sign`` is next."""
        return self.kind == "sign" and self.token == sign

    def end(self) -> None:
        """Require the end of the text."""
        if self.kind != "end":
            raise self.refused(f"It does not end where it should{self._where()}")

    def _conjunction(self, find: Find | None) -> Filter:
        terms = [self._term(find)]
        while self._word("and"):
            terms.append(self._term(find))
        return terms[0] if len(terms) == 1 else Both(tuple(terms))

    def _term(self, find: Find | None) -> Filter:
        if self.kind == "path" and self.token.lower() == "not":
            self._next()
            return Not(self._group(find))
        if self.at("("):
            return self._group(find)
        name = self.path()
        place = place_in(self._schema, name) if find is None else find(name)
        if place is None:
            raise self.refused(f"There is no attribute {name[:100]}")
        if find is None and self.at("[") and place.part is None:
            return self._chosen(place.attribute)
        return self._compared(place)

    def _group(self, find: Find | None) -> Filter:
        self.take("(")
        term = self.filter(find)
        self.take(")")
        return term

    def _chosen(self, attribute: Attribute) -> Filter:
        """Parse ``[…]`` after an attribute; a path that Entra writes after it belongs to the same value."""
        term = self.within(attribute)
        if not self.at("."):
            return Within(attribute, term)
        self._next()
        name = self.path()
        part = attribute.part(name)
        if part is None:
            raise self.refused(f"There is no attribute {attribute.name}.{name[:100]}")
        return Within(attribute, Both((term, self._compared(Place(part)))))

    def _compared(self, place: Place) -> Filter:
        word = self._taken().lower() if self.kind == "path" else ""
        if word == "pr":
            return Present(place)
        operator = next((known for known in get_args(Operator) if known == word), None)
        if operator is None:
            raise self.refused(f"An operator is missing after {place.name}")
        if place.last.kind == "complex":
            value = place.last.part("value")
            if value is None or not place.last.many:
                raise self.refused(f"{place.name} has several parts: name one of them")
            place = Place(place.attribute, value)
        return Comparison(place, operator, self._value(place, operator))

    def _value(self, place: Place, operator: Operator) -> Value:
        kind, token = self.kind, self._taken()
        if kind == "path" and token.lower() in _CONSTANTS:
            value: Value = _CONSTANTS[token.lower()]
        elif kind in ("text", "number"):
            value = json.loads(token)
            if isinstance(value, str) and not is_storable(value):
                raise self.refused(f"The value of {place.name} is no text")
        else:
            raise self.refused(f"A value is missing after {place.name} {operator}")
        return self._fitting(place, operator, value)

    def _fitting(self, place: Place, operator: Operator, value: Value) -> Value:
        kind = place.last.kind
        if kind == "boolean" and (operator in _STRINGS or operator in _ORDERS):
            raise self.refused(f"{place.name} does not take {operator}")
        if value is None:
            return None
        if kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"  # as Entra writes it
        if kind == "dateTime" and isinstance(value, str) and operator not in _STRINGS:
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                moment = None
            if moment is not None and moment.tzinfo is not None:
                return moment
        elif isinstance(value, bool if kind == "boolean" else str):
            return value
        raise self.refused(f"{place.name} {operator} takes another kind of value")

    def _word(self, word: str) -> bool:
        if self.kind == "path" and self.token.lower() == word:
            self._next()
            return True
        return False

    def _taken(self) -> str:
        token = self.token
        self._next()
        return token

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise self.refused(f"It can't be read{self._where()}")
        self.kind, self.token = match.lastgroup, match[match.lastgroup]
        self._at = match.end()

    def _where(self) -> str:
        return f" at character {self._at - len(self.token) + 1}"


def parse_filter(text: str, schema: Schema) -> Filter:
    """Return the parsed filter ``text``; raises ScimFault."""
    parser = Parser(text, schema)
    made = parser.filter()
    parser.end()
    return made


def matches(term: Filter, resource: Mapping[str, Any]) -> bool:
    """Return whether a resource, or one value of an attribute, satisfies a filter."""
    match term:
        case Comparison(place, operator, value):
            values = _values(place, resource)
            # One matching value is enough, except for "ne": it requires that no value is equal.
            every = all if operator == "ne" and isinstance(values, list) else any
            listed: Sequence[Any] = values if isinstance(values, list) else [values]
            return every(_holds(place.last, each, operator, value) for each in listed)
        case Present(place):
            return _is_present(_values(place, resource))
        case Not(inner):
            return not matches(inner, resource)
        case Both(terms):
            return all(matches(each, resource) for each in terms)
        case Either(terms):
            return any(matches(each, resource) for each in terms)
        case Within(attribute, inner):
            return any(matches(inner, each) for each in resource.get(attribute.name) or ())


def _values(place: Place, resource: Mapping[str, Any]) -> Any:
    value = resource.get(place.attribute.name)
    if place.part is None:
        return value
    if place.attribute.many:
        return [each.get(place.part.name) for each in value or ()] if value is not None else None
    return None if value is None else value.get(place.part.name)


def _is_present(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_present, value.values()))
    if isinstance(value, list):
        return any(map(_is_present, value))
    return value is not None and value != ""


def is_storable(text: str) -> bool:
    """Return whether a text can be stored: it has no NUL and no half of a surrogate pair."""
    return not _NO_TEXT.search(text)


def text_key(text: str, *, exact: bool) -> str:
    """Return the form in which texts are compared."""
    return normalize("NFC", text) if exact else name_key(text)


def _holds(attribute: Attribute, actual: Any, operator: Operator, expected: Value) -> bool:
    if actual is None or expected is None:
        same = actual is None and expected is None
        return same if operator == "eq" else operator == "ne" and not same
    if attribute.kind == "dateTime" and not isinstance(expected, str):
        actual = datetime.fromisoformat(actual)
    elif isinstance(actual, str) and isinstance(expected, str):
        actual, expected = (text_key(text, exact=attribute.exact) for text in (actual, expected))
    return _COMPARE[operator](actual, expected)


_COMPARE: Final[Mapping[Operator, Callable[[Any, Any], bool]]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "co": lambda left, right: right in left,
    "sw": lambda left, right: left.startswith(right),
    "ew": lambda left, right: left.endswith(right),
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
}
