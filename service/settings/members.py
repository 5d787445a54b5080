"""Settings that are tables of members: a data class declares each member with its reader.

Readers raise ValueError with half a sentence ("must have …") that never holds the value: it may be a secret.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar

from service.kernel.strict_json import strict_json

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")


class Table(Protocol):
    """A data class, each of whose members is declared by ``member``."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def complaints(self) -> Iterator[str]:
        """Yield half a sentence for each fault between members."""


T = TypeVar("T", bound=Table)


def member(
    read: Callable[[Any], Any],
    default: Any = MISSING,
    *,
    factory: Any = MISSING,
    needed: str = "",
    secret: bool = False,
) -> Any:
    """Declare a member; ``read`` returns its value, or raises ValueError.

    A table without the member is refused if it is ``needed``, such as "a url". A ``secret`` appears in no
    repr.
    """
    metadata = {"read": read, "needed": needed}
    if factory is not MISSING:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata, repr=not secret)


def read_table(kind: type[T], name: object, members: object, /, **outside: Any) -> T:
    """Return ``members`` as ``kind``; messages show ``name``. Fields that are no members are ``outside``."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("must have names of at most 32 of a-z, 0-9 and -, starting with a letter")
    if not isinstance(members, Mapping):
        raise ValueError(f"must have a table for {name}")  # noqa: TRY004 - a fault of the operator
    declared = {each.name: each.metadata for each in fields(kind) if each.metadata}
    if unknown := sorted(map(str, members.keys() - declared.keys())):
        raise ValueError(f"has no member {unknown[0]:.40} ({name}); there are {', '.join(declared)}")
    for member_name, metadata in declared.items():
        if metadata["needed"] and member_name not in members:
            raise ValueError(f"needs {metadata['needed']} ({name})")
    try:
        made = kind(**outside, **{each: declared[each]["read"](value) for each, value in members.items()})
        complaint = next(made.complaints(), None)
    except ValueError as error:
        complaint = str(error)
    if complaint:
        raise ValueError(f"{complaint} ({name})")
    return made


def from_json(text: str, form: str, empty: object) -> object:
    """Return the JSON ``text``, ``empty`` for an empty one; ValueError says that it must be of ``form``."""
    try:
        return strict_json(text.encode()) if text else empty
    except ValueError:
        raise ValueError(f"must be {form}") from None


def absolute_path(text: str) -> Path:
    """Return an absolute path of a file."""
    if not (path := Path(text)).is_absolute():
        raise ValueError("must have absolute paths of files")
    return path


def choice(*choices: str, title: str = "") -> Callable[[object], Any]:
    """Return the reader of one of ``choices``; ``title`` ends with a space."""

    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"must have {title}one of {', '.join(choices)}")
        return str(value)

    return read
