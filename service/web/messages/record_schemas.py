"""Schemas whose members are the fields of a record, and bodies that edit one (``kernel.fields``).

A ``PUT`` has all members, a ``PATCH`` some of them. Both are read into the same members, so an endpoint
passes either to the same edit: absent members are unchanged. Only a ``PUT`` requires all members, except late
ones.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import MISSING
from datetime import datetime
from inspect import get_annotations
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import FieldInfo

from service.audit.redaction import is_sensitive
from service.kernel.fields import camel, fields_of, names_of
from service.kernel.value_rules import ChoiceRule, bounds_of
from service.web.messages.schema import SEVERAL, Moment, Schema, UpdatedBy

S = TypeVar("S", bound=Schema)
Place = Literal["in_api", "in_tables", "own"]
"""The attribute of ``Field`` that says whether a field is shown somewhere."""
_STORED: Final = (
    ("version", Annotated[int, Meta(ge=1, examples=[3])]),
    ("create_time", Moment),
    ("update_time", Moment),
    ("updated_by", UpdatedBy),
)
"""The fields of each stored record, as answers show them."""


def answer_of(
    record: type, place: Place = "in_api", *, before: str = "", full: bool = False
) -> Callable[[type[S]], type[S]]:
    """Give the decorated answer the fields of ``record`` for ``place``, in front of its member ``before``.

    Without ``before`` they come last, and before the fields of each stored record, unless the answer declares
    its version itself. With ``full`` it says of them what bodies say; else only their types.
    """
    members = [(field.name, kind if full else _bare(kind)) for field, kind in _fields(record, place)]

    def extended(answer: type[S]) -> type[S]:
        if "version" in get_annotations(answer):
            return _extended(answer, members, before or "version")
        return _extended(_extended(answer, members, before), _STORED, "")

    return extended


class Shown(Schema):
    """The base of answers that ``shows`` completes and commands print: type checkers know no such member."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def shows(
    record: type, *, leave_out: Collection[str] = (), before: str = "", **renamed: str
) -> Callable[[type[S]], type[S]]:
    """Give the decorated answer the fields of ``record``, a stored record, in front of its member ``before``.

    Without ``before`` they come last. Members that the answer declares itself take precedence. Fields in
    ``leave_out`` are absent; ``renamed`` have another name in JSON. Raises TypeError, which stops every
    start, for unknown fields in ``leave_out`` or ``renamed``. Raises it also for a field that may hold a
    secret: an answer must declare such a field itself.
    """
    hints = get_type_hints(record, include_extras=True)
    if unknown := sorted({*leave_out, *renamed} - hints.keys()):
        raise TypeError(f"{record.__name__} has no {', '.join(unknown)}")

    def extended(answer: type[S]) -> type[S]:
        own = get_annotations(answer)
        shown = [name for name in names_of(record) if name not in leave_out and name not in own]
        if secret := [name for name in shown if is_sensitive(name) or hints[name] in (bytes, bytes | None)]:
            raise TypeError(f"{answer.__name__} would show {', '.join(secret)} of {record.__name__}")
        members = [(name, _shown(hints[name]), msgspec.field(name=renamed.get(name))) for name in shown]
        return _extended(answer, members, before)

    return extended


def _shown(hint: Any) -> Any:
    """Return the type in answers of a field of a stored record: times are ``Moment``, sequences lists."""
    if get_origin(hint) is Annotated:
        kind, *metas = get_args(hint)
        return _annotated(_shown(kind), metas)
    if get_origin(hint) in (Union, UnionType):
        return _union(*map(_shown, get_args(hint)))
    if get_origin(hint) in (tuple, Sequence):
        return list[_shown(get_args(hint)[0])]  # type: ignore[misc]  # known at run time
    return Moment if hint is datetime else hint


def body_of(
    record: type,
    place: Place = "in_api",
    *,
    before: str = "",
    left_out: Literal["null", "default", "unset"] = "null",
) -> Callable[[type[S]], type[S]]:
    """Give the decorated body the fields of ``record`` for ``place``, before a member of it or at its end.

    Bodies of new records alone have the ``fixed`` fields.

    ``left_out`` determines the value of an omitted member. ``null``: null if its default is null, else unset.
    ``default``: the default of the record. ``unset``: always unset. A member without a default is required,
    except with ``unset``.
    """
    members: list[tuple[Any, ...]] = []
    for field, kind in _fields(record, place):
        if fields_of(record)[field.name].fixed:
            continue
        if left_out == "unset" or (left_out == "null" and field.default not in (None, MISSING)):
            members.append((field.name, _union(kind, UnsetType), UNSET))
        else:
            members.append((field.name, kind, *([] if field.default is MISSING else [field.default])))
    return lambda body: _extended(body, members, before)


def filters_of(filters: type, *, without: Collection[str] = ()) -> Callable[[type[S]], type[S]]:
    """Give the decorated query of a list the fields of ``filters``, in front of its ``sort``.

    The dataclass says beside each condition what the API says of it; of several values one has to fit.
    """
    members = []
    for name, hint in get_type_hints(filters, include_extras=True).items():
        value, *answer = get_args(hint)
        kinds = [kind for kind in _alternatives(value) if kind is not NoneType]
        if get_origin(kinds[0]) is Collection:
            kinds = [list[get_args(kinds[0])]]  # type: ignore[misc]  # known at run time
            answer.append(SEVERAL)
        if name not in without:
            members.append((name, _union(_annotated(_union(*kinds), answer), NoneType), None))
    return lambda query: _extended(query, members, "sort")


def kind_of(record: type, name: str) -> Any:
    """Return the type of a declared field in bodies: with its bounds, examples and description."""
    value, *answer = get_args(get_type_hints(record, include_extras=True)[name])
    field = fields_of(record)[name]
    kinds = [kind for kind in _alternatives(value) if kind is not NoneType]
    kind = Literal[field.rule.choices] if isinstance(field.rule, ChoiceRule) else _union(*kinds)
    kind = _annotated(kind, [bounds_of(field.rule), *answer, *([LATE] if field.late else [])])
    return _union(kind, NoneType) if NoneType in _alternatives(value) else kind


def _fields(record: type, place: Place) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    for field in dataclasses.fields(record):
        if getattr(fields_of(record)[field.name], place):
            yield field, kind_of(record, field.name)


def _extended(kind: type[S], members: Iterable[tuple[Any, ...]], before: str) -> type[S]:
    """Return ``kind`` with those of ``members`` that it has not itself."""
    names = get_annotations(kind)
    derived = [member for member in members if member[0] not in names]
    whole: list[tuple[Any, ...]] = []
    for field in msgspec.structs.fields(kind):
        if field.name == before:
            whole += derived
        if field.name in names:
            options: Any = {"default": field.default, "default_factory": field.default_factory}
            if field.encode_name != camel(field.name):
                options["name"] = field.encode_name
            whole.append((field.name, field.type, msgspec.field(**options)))
    return with_members(kind, whole if before in names else [*whole, *derived])


def _bare(hint: Any) -> Any:
    """Return ``hint`` without what documents say of it."""
    kinds = _alternatives(hint)
    return _union(*(get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds))


def _annotated(kind: Any, answer: Iterable[Any]) -> Any:
    """Return ``kind`` with those of ``answer`` that are for documents and bodies."""
    metas = [meta for meta in answer if isinstance(meta, Meta) and meta != Meta()]
    return Annotated[(kind, *metas)] if metas else kind


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _union(*kinds: Any) -> Any:
    return Union[kinds]  # noqa: UP007 - types known at run time


MERGE_PATCH: Final = "application/merge-patch+json"
"""The media type of a patch, beside ``application/json`` (RFC 7396 §4)."""

LATE: Final = Meta(extra={"late": True})
"""Marks the type of a member that a ``PUT`` may leave out: see ``service.kernel.fields.Field``."""


def with_members(kind: type[S], members: Iterable[tuple[Any, ...]]) -> type[S]:
    """Return ``kind``, a class with a docstring, with these members in place of its own."""
    return msgspec.defstruct(  # type: ignore[return-value]  # its type is that of its base
        kind.__name__,
        members,
        bases=kind.__bases__,
        module=kind.__module__,
        namespace={"__doc__": kind.__doc__},
        kw_only=True,
    )


class MergePatch(Schema):
    """The base of bodies of ``PATCH``: JSON Merge Patches (RFC 7396).

    A member replaces the stored one, lists as a whole; ``null`` removes an optional one.
    """


def replacement_of(record: type[Schema], *, fixed: Collection[str] = ()) -> Callable[[type[S]], type[S]]:
    """Give the decorated class the members of ``record``, each of them required, for a ``PUT``.

    An omitted member would silently keep its value, so it is rejected; ``null`` clears it. ``fixed`` members
    never change and ``LATE`` members keep their value: both may be omitted. So ``given`` returns all others.
    """

    def members() -> Iterator[tuple[Any, ...]]:
        for field in msgspec.structs.fields(record):
            may_be_left_out = field.name in fixed or _is_late(field.type)
            yield _optional(field) if may_be_left_out else (field.name, _present(field))

    return lambda kind: with_members(kind, members())


def patch_of(record: type[Schema]) -> Callable[[type[S]], type[S]]:
    """Give the decorated class, a ``MergePatch``, the members of ``record``, none of them required.

    So ``given`` returns those that the body has. Members for which ``record`` allows no ``null`` can't be
    removed.
    """
    return lambda kind: with_members(kind, map(_optional, msgspec.structs.fields(record)))


def _optional(field: FieldInfo) -> tuple[Any, ...]:
    return field.name, Union[_present(field), UnsetType], UNSET  # noqa: UP007 - types known at run time


def _present(field: FieldInfo) -> Any:
    """Return the type of ``field`` when it is given."""
    kinds = tuple(kind for kind in get_args(field.type) if kind is not UnsetType)
    return Union[kinds] if UnsetType in get_args(field.type) else field.type  # noqa: UP007 - see above


def _is_late(kind: Any) -> bool:
    return LATE in getattr(kind, "__metadata__", ()) or any(map(_is_late, get_args(kind)))
