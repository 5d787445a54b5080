"""The state: everything that decides about rights except users, by names shared by all installations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import unquote

import msgspec

from service.authz.engine.paths import shape
from service.kernel.assurance import Demand
from service.kernel.fields import fields_of
from service.kernel.request_objects import MOST_APPROVALS, MOST_STAGES
from service.kernel.services import PORTCULLIS, split_object
from service.records.menus import MenuValues
from service.records.request_rules import RuleValues
from service.records.resources import ResourceValues
from service.records.roles import RoleValues
from service.records.services import ServiceValues

Kind = Literal["menu", "button", "service", "resource", "role"]
"""The kind of an object of the state."""

_SPECIAL: Final = re.compile("[%/#\x00-\x1f\x7f]")
_SEGMENT: Final = re.compile(r"(?P<name>[^#/]+)(?:#(?P<number>[1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuState:
    """A Menu: a page, or a folder of pages. Its key is its place in the tree, so it needs no parent."""

    title: str
    name: str | None = None
    path: str | None = None
    component: str | None = None
    icon: str | None = None
    sort: int = 0
    enabled: bool = True
    hidden: bool = False
    keep_alive: bool = False
    redirect: str | None = None
    link: str | None = None
    badge: str | None = None
    meta: dict[str, Any] | None = None
    titles: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonState:
    """A Button, whose key is its permission code; ``menu`` is the key of the Menu above, None at the top."""

    title: str
    menu: str | None = None
    name: str | None = None
    icon: str | None = None
    sort: int = 0
    enabled: bool = True
    titles: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceState:
    """A resource with the key ``METHOD /path``, for another service ``orders METHOD /path``.

    ``buttons`` are the sorted codes that it is bound to. ``opened`` is the word of its opening, with its
    expiry: ``@anyone until 2026-12-31T00:00:00Z``.
    """

    resource_code: str
    resource_name: str
    description: str | None = None
    enabled: bool = True
    assurance: Demand | None = None
    services: bool = False
    opened: str | None = None
    buttons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState(ServiceValues):
    """Another service, keyed by name; ``opened`` is the word that opens its unregistered requests."""

    opened: str | None = None


class StageState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stage of a rule: this many different people who hold ``code`` must approve."""

    code: str
    approvals: Annotated[int, msgspec.Meta(ge=1, le=MOST_APPROVALS)]


class RuleState(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The request rule of a role; times are in seconds."""

    requestable_by: str
    stages: Annotated[tuple[StageState, ...], msgspec.Meta(min_length=1, max_length=MOST_STAGES)]
    max_duration: Annotated[int, msgspec.Meta(gt=0)]
    pending_timeout: Annotated[int, msgspec.Meta(gt=0)]
    reason_required: bool
    grant_needed: bool = True
    assurance: Demand | None = None
    emergency: bool = False

    @classmethod
    def of(cls, rule: RuleValues) -> Self:
        """Return a stored rule in the form of a state file."""
        values = {name: getattr(rule, name) for name in cls.__struct_fields__ if name != "stages"}
        return cls(**values, stages=tuple(StageState(stage.code, stage.approvals) for stage in rule.stages))

    def values(self) -> RuleValues:
        """Return the stored values of the rule."""
        values = {name: value for name, value in msgspec.structs.asdict(self).items() if name != "stages"}
        codes = tuple(stage.code for stage in self.stages)
        approvals = tuple(stage.approvals for stage in self.stages)
        return RuleValues(**values, stage_codes=codes, stage_approvals=approvals)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleState(RoleValues):
    """A role, keyed by its code; it gives the Menus with the keys ``menus`` and the codes ``buttons``.

    ``request_rule`` is its request rule, None if the role can't be requested.
    """

    menus: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()
    request_rule: RuleState | None = None


Item = MenuState | ButtonState | ServiceState | ResourceState | RoleState

TYPES: Final[dict[Kind, tuple[type[Any], type[Any]]]] = {
    "menu": (MenuState, MenuValues),
    "button": (ButtonState, MenuValues),
    "service": (ServiceState, ServiceValues),
    "resource": (ResourceState, ResourceValues),
    "role": (RoleState, RoleValues),
}
"""The type of the objects of each kind, and the record that declares their fields under the same names.

Each kind stands after the kinds that it refers to. A late field that a file omits is UNSET until
``edits_between`` inserts the stored value.
"""

SECTIONS: Final[dict[Kind, str]] = {kind: f"{kind}s" for kind in TYPES}
"""The section name of each kind."""


@dataclass(frozen=True, slots=True)
class State:
    """The objects of an installation by their keys, in the order of ``ordered``."""

    menus: Mapping[str, MenuState]
    buttons: Mapping[str, ButtonState]
    services: Mapping[str, ServiceState]
    resources: Mapping[str, ResourceState]
    roles: Mapping[str, RoleState]

    def of(self, kind: Kind) -> Mapping[str, Item]:
        """Return the objects of one kind."""
        objects: Mapping[str, Item] = getattr(self, SECTIONS[kind])
        return objects


def require_whole(types: Mapping[Kind, tuple[type[Any], type[Any]]]) -> None:
    """Raise TypeError for a declared field that is missing in state files and not marked as such."""
    shown = {(record, field.name) for state, record in types.values() for field in fields(state)}
    for _, record in types.values():
        for name, field in fields_of(record).items():
            if field.in_state and (record, name) not in shown:
                raise TypeError(f"{record.__name__}.{name} is missing in state files and not marked as such")


require_whole(TYPES)


def values_of(kind: Kind, item: object) -> dict[str, Any]:
    """Return the fields of ``item``, a record or a state, that the record and the state of ``kind`` share."""
    state, record = TYPES[kind]
    shared = fields_of(record).keys()
    return {field.name: getattr(item, field.name) for field in fields(state) if field.name in shared}


def short_name(kind: Kind, name: str) -> str:
    """Return the name of a field without the noun: ``name`` of a role for ``role_name``."""
    return name.removeprefix(f"{kind}_")


def state_of(objects: Mapping[Kind, Mapping[str, Any]]) -> State:
    """Return the state of these objects, by kind and key, each of the type of its kind."""
    return State(
        **{
            name: {key: objects[kind][key] for key in ordered(kind, objects.get(kind, {}))}
            for kind, name in SECTIONS.items()
        }
    )


def identity(kind: Kind, key: str) -> str:
    """Return a text that is equal for keys of the same object.

    For a resource this is its route with neutral parameter names; otherwise the key itself.
    """
    return shape(key) if kind == "resource" else key


def ordered(kind: Kind, keys: Iterable[str]) -> list[str]:
    """Return ``keys`` in the order of a state.

    Menus follow the Menu above them; resources are sorted by service, path and method, others by code.
    """
    if kind == "menu":
        return sorted(keys, key=lambda key: [_sortable(segment) for segment in key.split("/")])
    if kind == "resource":
        return sorted(keys, key=_resource_order)
    return sorted(keys)


def segment_of(name: str, number: int = 1) -> str:
    """Return the last part of a Menu's key: its name, or its title if it has no name.

    ``number`` distinguishes Menus with one name below the same Menu; the first has none. Characters with a
    meaning in keys are percent-encoded (RFC 3986 §2.1).
    """
    encoded = _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", name)
    return encoded if number == 1 else f"{encoded}#{number}"


def parsed_segment(segment: str) -> tuple[str, int] | None:
    """Return name and number of the last part of a Menu's key; None if it is malformed."""
    match = _SEGMENT.fullmatch(segment)
    if match is None:
        return None
    name, number = unquote(match["name"]), int(match["number"] or 1)
    return (name, number) if segment_of(name, number) == segment else None


def above(key: str) -> str | None:
    """Return the key of the Menu above the Menu with this key; None at the top."""
    return key.rpartition("/")[0] or None


def last(key: str) -> str:
    """Return the last part of a Menu's key."""
    return key.rpartition("/")[2]


def _resource_order(key: str) -> tuple[bool, str, str, str]:
    service, route = split_object(key)
    method, _, path = route.partition(" ")
    return service != PORTCULLIS, service, path, method


def _sortable(segment: str) -> tuple[str, int]:
    name, _, number = segment.partition("#")
    return name, int(number or 1)
