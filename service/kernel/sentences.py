"""Describe the values of a type as half a sentence ("must be a list of at most 100 items")."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct, UnsetType


def expected(kind: Any, value: Any = "") -> str:
    """Describe the values of ``kind``; its alternatives are named together, with their bounds.

    ``value`` is the faulty value: the sentences of rules are for texts only.
    """
    says = (meta.extra["says"] for meta in metas_of(kind) if meta.extra and "says" in meta.extra)
    if isinstance(value, str) and (rule := next(says, "")):
        return str(rule)
    alternatives = list(_alternatives(kind))
    choices = [str(choice) for plain, _ in alternatives for choice in _choices(plain)]
    nouns = [f"one of: {', '.join(choices)}" if len(choices) > 1 else choices[0]] if choices else []
    nouns += [noun for noun in dict.fromkeys(_noun(*each) for each in alternatives) if noun]
    return f"must be {' or '.join(nouns)}" if nouns else "is not one of the values allowed"


def kinds_of(kind: Any) -> Iterator[Any]:
    """Yield the alternatives of a type, without annotations."""
    for alternative, _ in _alternatives(kind):
        yield alternative


def metas_of(kind: Any) -> Iterator[Meta]:
    """Yield the annotations of a type and of its alternatives, outer annotations first."""
    if get_origin(kind) is Annotated:
        plain, *metas = get_args(kind)
        yield from (meta for meta in metas if isinstance(meta, Meta))
        yield from metas_of(plain)
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from metas_of(each)


def _alternatives(kind: Any, metas: tuple[Meta, ...] = ()) -> Iterator[tuple[Any, tuple[Meta, ...]]]:
    if get_origin(kind) is Annotated:
        plain, *annotated = get_args(kind)
        yield from _alternatives(plain, (*metas, *(meta for meta in annotated if isinstance(meta, Meta))))
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _alternatives(each, metas)
    else:
        yield kind, metas


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _noun(kind: Any, metas: Iterable[Meta]) -> str:
    plain = get_origin(kind) or kind
    bounds = {name: value for meta in metas for name in _BOUNDS if (value := getattr(meta, name)) is not None}
    if isinstance(plain, type) and issubclass(plain, Struct):
        plain = dict
    match _NOUNS.get(plain):
        case None:
            return "" if plain in (UnsetType, Literal) else "of another form"
        case noun, "character" as unit:
            return f"{noun}{_length(bounds, unit)}{_form(bounds)}"
        case noun, str() as unit:
            return f"{noun}{_length(bounds, unit)}"
        case noun, _:
            return f"{noun}{_range(bounds)}"


_BOUNDS: Final = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern", "examples")
_NOUNS: Final[dict[Any, tuple[str, str | None]]] = {
    str: ("a text", "character"),
    bool: ("true or false", None),
    int: ("a whole number", None),
    float: ("a number", None),
    dict: ("an object", "member"),
    datetime: ("a time such as 2026-11-21T02:33:53Z", None),
    NoneType: ("null", None),
    **dict.fromkeys((list, tuple, set, frozenset), ("a list", "item")),
}


def _form(bounds: dict[str, Any]) -> str:
    if "pattern" not in bounds:
        return ""
    return f" such as {bounds['examples'][0]}" if bounds.get("examples") else " of the required form"


def _length(bounds: dict[str, Any], noun: str) -> str:
    least, most = bounds.get("min_length", 0), bounds.get("max_length")
    if most is None:
        return f" of at least {_counted(least, noun)}" if least else ""
    return f" of {least} to {_counted(most, noun)}" if least else f" of at most {_counted(most, noun)}"


def _range(bounds: dict[str, Any]) -> str:
    least, most = bounds.get("ge"), bounds.get("le")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    words = (("ge", "of at least"), ("gt", "greater than"), ("le", "of at most"), ("lt", "below"))
    return "".join(f" {word} {bounds[name]}" for name, word in words if name in bounds)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
