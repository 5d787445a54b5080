"""The fields of records, each declared once: its rule, and its use by the audit and by password rules.

@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class RoleValues:
    role_name: Annotated[str, Field(text_fault)]
    enabled: Annotated[bool, Field(ITS_TYPE)] = True

``declared`` fails, and with it every start, for a field without a declaration. So a field missing in a list
elsewhere cannot be stored unchecked, or changed without a trace.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from service.kernel.coded_sentences import Sentence


def camel(name: str) -> str:
    """Return the JSON name of a Python ``name``: ``roleName`` for ``role_name``."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


Rule = Callable[[Any], Sentence | None]
"""Returns why a field can't have a value, which is never None, as half a sentence; None if it can."""

K = TypeVar("K", bound=type)


def ITS_TYPE(_value: object) -> None:  # noqa: N802 - a constant among rules
    """Allow every value of the type of the field, which must have few: a ``bool`` or a ``Literal``."""


def ITS_EDIT(_value: object) -> None:  # noqa: N802 - as above
    """Leave the check to the edit that writes the field: it depends on more than the value."""


def names_of(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or its class, a dataclass or a Struct, in their order."""
    names: tuple[str, ...] | None = getattr(record, "__struct_fields__", None)
    return tuple(field.name for field in dataclasses.fields(record)) if names is None else names


def values_of(record: Any, kind: type | None = None) -> dict[str, Any]:
    """Return the fields of a record by name: all of them, or those that ``kind`` has too."""
    return {name: getattr(record, name) for name in names_of(record if kind is None else kind)}


@dataclass(frozen=True, slots=True)
class Field:
    """Declaration of a field, beyond its type and its text in the API's documents (``msgspec.Meta``).

    ``rule`` limits its values. ``audited``: the operation log records its changes. ``in_passwords``: the
    password of a user must not contain the user's value. ``in_api``: bodies and answers of the API have it.
    ``in_tables``: exports and imports have it. ``in_state``: state files have it as a value. ``fixed``: edits
    cannot change it. ``own``: users edit it in their own profile. ``late``: older clients and files lack it,
    so a ``PUT``, a table or a state file without it keeps the stored value. This stays so forever: the last
    old client or file cannot be known. ``spelling`` returns the stored spelling of a value.
    """

    rule: Rule
    audited: bool = True
    in_passwords: bool = False
    in_api: bool = True
    in_tables: bool = True
    in_state: bool = True
    fixed: bool = False
    own: bool = False
    late: bool = False
    spelling: Callable[[Any], Any] | None = None


_DECLARED: Final[dict[type, Mapping[str, Field]]] = {}


def declared(kind: K) -> K:
    """Read the declarations of the fields of ``kind``, a dataclass, and return it.

    Raises TypeError for a field without a declaration or with several. The same for a field whose type alone
    limits its values, but has more than a few. The same for a late field without a value for existing
    records.
    """
    hints = get_type_hints(kind, include_extras=True)
    result = {field.name: _declaration(kind, field, hints[field.name]) for field in dataclasses.fields(kind)}
    _DECLARED[kind] = MappingProxyType(result)
    return kind


def fields_of(kind: type) -> Mapping[str, Field]:
    """Return the declarations of a ``declared`` dataclass, by field; TypeError for any other."""
    if kind not in _DECLARED:
        raise TypeError(f"{kind.__name__} is not declared")
    return _DECLARED[kind]


def field_faults(kind: type, values: Mapping[str, Any]) -> Iterator[tuple[str, Sentence]]:
    """Yield the JSON name of each field of ``values`` that its rule refuses, and the reason.

    ``values`` are some fields of ``kind``; None is no value. Raises TypeError for a name that ``kind`` does
    not have.
    """
    fields = fields_of(kind)
    if unknown := sorted(values.keys() - fields.keys()):
        raise TypeError(f"{kind.__name__} does not declare {', '.join(unknown)}")
    for name, field in fields.items():
        value = values.get(name)
        if value is not None and (fault := field.rule(value)):
            yield camel(name), fault


def spelt(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values``, some fields of ``kind``, each in the spelling in which it is stored."""
    spellings = {name: field.spelling for name, field in fields_of(kind).items() if field.spelling}
    return {
        name: value if value is None or (spelling := spellings.get(name)) is None else spelling(value)
        for name, value in values.items()
    }


def audited_fields(kind: type, record: object) -> dict[str, Any]:
    """Return the fields of ``record`` that the operation log records, by their JSON names."""
    fields = fields_of(kind)
    return {camel(name): getattr(record, name) for name, field in fields.items() if field.audited}


def password_context(kind: type, record: object) -> tuple[str, ...]:
    """Return the values of ``record`` of which its owner's password must not be made."""
    values = (getattr(record, name) for name, field in fields_of(kind).items() if field.in_passwords)
    return tuple(value for value in values if value is not None)


def _declaration(kind: type, field: dataclasses.Field[Any], hint: Any) -> Field:
    name = f"{kind.__name__}.{field.name}"
    declarations = [part for part in get_args(hint) if isinstance(part, Field)]
    if get_origin(hint) is not Annotated or len(declarations) != 1:
        raise TypeError(f"{name} has no declaration, or several: see service.kernel.fields")
    (declaration,) = declarations
    values = get_args(hint)[0]
    if declaration.rule is ITS_TYPE and not _has_few_values(values):
        raise TypeError(f"{name} needs a rule: its type has more values than can be listed")
    if declaration.late and field.default is dataclasses.MISSING and type(None) not in get_args(values):
        raise TypeError(f"{name} can't be late: it has no default, and may not be null")
    return declaration


def _has_few_values(kind: Any) -> bool:
    if get_origin(kind) in (Union, UnionType):
        return all(member is type(None) or _has_few_values(member) for member in get_args(kind))
    return kind is bool or get_origin(kind) is Literal
