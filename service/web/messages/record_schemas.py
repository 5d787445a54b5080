"""Schemas whose members are the declared fields of a record: see ``service.kernel.fields``.

@answer_of(RoleValues)
class Role(Schema):
    id: Id
    version: Version

The class has the members that the record does not declare, and those that the API shows otherwise. Only these
are known to a checker of types: others are read by name (``Schema.of``, ``Schema.given``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.kernel.fields import Field, fields_of
from service.kernel.value_rules import ChoiceRule, bounds_of
from service.web.messages.partial_bodies import LATE, with_members
from service.web.messages.schema import Schema

S = TypeVar("S", bound=Schema)
Chosen = Callable[[Field], bool]


def in_tables(field: Field) -> bool:
    """True for a field that exports and imports have, and that imports may change."""
    return field.in_tables and not field.fixed


def own(field: Field) -> bool:
    """True for a field that users edit in their own profile."""
    return field.own


def answer_of(
    record: type, chosen: Chosen = lambda field: field.in_api, *, before: str = "version", full: bool = False
) -> Callable[[type[S]], type[S]]:
    """Give the decorated answer the ``chosen`` fields of ``record``, in front of its member ``before``.

    With ``full`` it says of them what bodies say; else only their types.
    """

    def member(name: str, hint: Any, _default: Any) -> tuple[Any, ...]:
        return name, hint if full else _bare(hint)

    return _extended(record, chosen, before, member)


def body_of(
    record: type,
    chosen: Chosen = lambda field: field.in_api and not field.fixed,
    *,
    before: str = "",
    left_out: Literal["null", "default", "unset"] = "null",
) -> Callable[[type[S]], type[S]]:
    """Give the decorated body the ``chosen`` fields of ``record``, before a member of it or at its end.

    ``left_out`` says what a member is that a body leaves out: ``null`` if it may be null, and else unset; the
    ``default`` of the record; or always ``unset``. One without a default is required, but for the last.
    """

    def member(name: str, hint: Any, default: Any) -> tuple[Any, ...]:
        if left_out == "unset" or (default not in (MISSING, None) and left_out == "null"):
            return name, Union[hint, UnsetType], UNSET  # noqa: UP007 - types known at run time
        return (name, hint) if default is MISSING else (name, hint, default)

    return _extended(record, chosen, before, member)


def kind_of(record: type, name: str) -> Any:
    """Return the type of a declared field in bodies: with its bounds, examples and description."""
    declared, *answer = get_args(get_type_hints(record, include_extras=True)[name])
    field = fields_of(record)[name]
    rule = field.rule
    kinds = set(_alternatives(declared))
    kind: Any = Union[tuple(kinds - {type(None)})]  # noqa: UP007 - types known at run time
    if isinstance(rule, ChoiceRule):
        kind = Literal[rule.choices]
    metas = [meta for meta in (bounds_of(rule), *answer) if isinstance(meta, Meta) and meta != Meta()]
    metas += [LATE] * field.late
    if metas:
        kind = Annotated[(kind, *metas)]
    return Union[kind, None] if type(None) in kinds else kind  # noqa: UP007 - as above


def _extended(
    record: type, chosen: Chosen, before: str, member: Callable[[str, Any, Any], tuple[Any, ...]]
) -> Callable[[type[S]], type[S]]:
    def extend(kind: type[S]) -> type[S]:
        names = get_annotations(kind)
        own = [field for field in msgspec.structs.fields(kind) if field.name in names]

        def members() -> Iterator[tuple[Any, ...]]:
            declared = fields_of(record)
            derived = [
                member(field.name, kind_of(record, field.name), field.default)
                for field in fields(record)
                if field.name not in names and chosen(declared[field.name])
            ]
            for field in own:
                if field.name == before:
                    yield from derived
                left_out: Any = {"default": field.default, "default_factory": field.default_factory}
                yield field.name, field.type, msgspec.field(**left_out)
            if before not in names:
                yield from derived

        return with_members(kind, members())

    return extend


def _bare(hint: Any) -> Any:
    """Return ``hint`` without what documents say of it."""
    kinds = [get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in _alternatives(hint)]
    return Union[tuple(kinds)]  # noqa: UP007 - types known at run time


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
