"""Describe the values of a type as half a sentence ("must be a list of at most 100 items")."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct, UnsetType

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence


def expected(kind: Any, value: Any = "") -> Sentence:
    """Describe the values of ``kind``; its alternatives are named together, with their bounds.

    ``value`` is the faulty value: the sentences of rules are for texts only, and a value of the right type
    has another code than one of a wrong type.
    """
    says = (meta.extra["says"] for meta in metas_of(kind) if meta.extra and "says" in meta.extra)
    if isinstance(value, str) and (rule := next(says, None)) is not None:
        stated: Sentence = rule
        return stated
    alternatives = list(_alternatives(kind))
    choices = [str(choice) for plain, _ in alternatives for choice in _choices(plain)]
    described: dict[Sentence, None] = {}
    about: Sentence | None
    if len(choices) > 1:
        described[sentence("must_be_one_of", choices=choices, or_null="no")] = None
    elif choices:
        described[sentence("must_be", choice=choices[0], or_null="no")] = None
    for plain, metas in alternatives:
        if not _choices(plain) and (about := _described(plain, metas, value)) is not None:
            described[about] = None
    return _joined(list(described), null=any(plain is NoneType for plain, _ in alternatives))


def _joined(alternatives: Sequence[Sentence], *, null: bool) -> Sentence:
    """Return the sentence of any one of ``alternatives``, or of null."""
    if not alternatives:
        return sentence("must_be", choice="null", or_null="no") if null else sentence("not_allowed")
    if len(alternatives) == 1:
        (stated,) = alternatives
    else:
        nouns = [alternative.removeprefix("must be ") for alternative in alternatives]
        stated = sentence("wrong_type", expected=" or ".join(nouns), or_null="no")
    return with_null(stated) if null else stated


def with_null(stated: Sentence, *, null: bool = True) -> Sentence:
    """Return a sentence about the values of a type with null, or without it: parameters are never null."""
    if "or_null" not in stated.params:
        return stated
    return sentence(stated.code, **{**stated.params, "or_null": "yes" if null else "no"})


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


def _described(kind: Any, metas: Iterable[Meta], value: Any) -> Sentence | None:
    """Return the sentence of one alternative; None for null, and for a type without values of its own."""
    plain = get_origin(kind) or kind
    if isinstance(plain, type) and issubclass(plain, Struct):
        plain = dict
    if plain in (NoneType, UnsetType):
        return None
    bounds = {name: bound for meta in metas for name in _BOUNDS if (bound := getattr(meta, name)) is not None}
    params: dict[str, Any] = {"or_null": "no"}
    if plain in (int, float):
        params |= _range(bounds)
    elif plain in _SIZED:
        params |= _length(bounds)
    if plain is str:
        params |= _form(bounds)
    return sentence(_code(plain, value, bounds), **params)


_BOUNDS: Final = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern", "examples")
_LISTS: Final = (list, tuple, set, frozenset)
_SIZED: Final = (str, dict, *_LISTS)
_CODES: Final[dict[Any, str]] = {
    str: "must_be_text",
    bool: "must_be_boolean",
    int: "must_be_integer",
    float: "must_be_number",
    dict: "must_be_object",
    datetime: "must_be_time",
    **dict.fromkeys(_LISTS, "must_be_list"),
}


def _code(plain: Any, value: Any, bounds: dict[str, Any]) -> str:
    """Return the code of the sentence about ``value``: that of a bound if its type is right."""
    if plain is int and isinstance(value, int) and not isinstance(value, bool):
        return "integer_out_of_range"
    if (plain is str and isinstance(value, str)) or (plain in _LISTS and isinstance(value, list)):
        noun = "text" if plain is str else "list"
        if len(value) < bounds.get("min_length", 0):
            return f"{noun}_too_short"
        if len(value) > bounds.get("max_length", len(value)):
            return f"{noun}_too_long"
        return "text_of_other_form" if "pattern" in bounds else _CODES[plain]
    return _CODES.get(plain, "must_be_of_other_form")


def _form(bounds: dict[str, Any]) -> dict[str, Any]:
    if "pattern" not in bounds:
        return {"form": "none"}
    if not bounds.get("examples"):
        return {"form": "other"}
    return {"form": "example", "example": bounds["examples"][0]}


def _length(bounds: dict[str, Any]) -> dict[str, Any]:
    least, most = bounds.get("min_length", 0), bounds.get("max_length")
    if most is None:
        return {"length": "least", "least": least} if least else {"length": "none"}
    return {"length": "between", "least": least, "most": most} if least else {"length": "most", "most": most}


_RANGES: Final = {
    frozenset({"ge"}): "least",
    frozenset({"gt"}): "above",
    frozenset({"le"}): "most",
    frozenset({"lt"}): "below",
    frozenset({"ge", "lt"}): "least_below",
    frozenset({"gt", "lt"}): "above_below",
    frozenset({"gt", "le"}): "above_most",
}


def _range(bounds: dict[str, Any]) -> dict[str, Any]:
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    named = {"least": least, "most": most}
    kind = _RANGES.get(frozenset({"ge", "gt", "le", "lt"} & bounds.keys()), "between")
    given = {name: bound for name, bound in named.items() if bound is not None}
    return {"range": kind if given else "none"} | given
