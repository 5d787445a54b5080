"""Bodies that edit a record: all of its members (``PUT``) or some of them (``PATCH``), from one ``Schema``.

Both are read into the same members, so an endpoint hands either to the same edit: what a body does not have
stays as it is stored. Only a ``PUT`` refuses to leave out a member, unless it is late.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, TypeVar, Union, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import FieldInfo

from service.web.messages.schema import Schema

S = TypeVar("S", bound=Schema)

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

    A member left out would be kept without a word, so it is refused; ``null`` says that there is no value.
    Those that are ``fixed`` never change, and ``LATE`` ones keep what is stored: they may be left out. So
    ``given`` returns all the others.
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
