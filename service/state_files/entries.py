"""What the objects of a state file may say: the types of the bodies of the API, by the file's names."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from service.administration.state import Kind
from service.endpoints.field_types import (
    Code,
    Component,
    Description,
    MenuPath,
    Name,
    OpenTo,
    RoleName,
    Sort,
    Text,
    Title,
)
from service.web.messages.schema import Schema

FORMAT: Final = 1
"""The version of the file's format that is written and read."""

SECTIONS: Final[dict[Kind, str]] = {
    "menu": "menus",
    "button": "buttons",
    "service": "services",
    "resource": "resources",
    "role": "roles",
}
"""The top-level key of each kind."""

OPTIONAL: Final = frozenset({"services"})
"""Sections that a file may leave out: those that files of earlier versions do not have."""


class MenuEntry(Schema):
    """A Menu; without ``name`` it is called by the last part of its key, with ``null`` it has none."""

    title: Title
    name: Text | UnsetType | None = UNSET
    path: MenuPath | None = None
    component: Component | None = None
    icon: Text | None = None
    sort: Sort = 0
    enabled: bool = True


class ButtonEntry(Schema):
    """A Button."""

    title: Title
    menu: str | None = None
    name: Text | None = None
    icon: Text | None = None
    sort: Sort = 0
    enabled: bool = True


class ServiceEntry(Schema):
    """Another service; ``opened`` opens what is not registered there."""

    description: Description | None = None
    ignore_case: bool = False
    ignore_trailing_slash: bool = False
    allow_preflight: bool = False
    opened: OpenTo | None = None


class ResourceEntry(Schema):
    """A resource; without ``buttons`` it would be open to everybody logged in, so they must be given."""

    code: Code
    name: Name
    buttons: list[str]
    description: Description | None = None
    enabled: bool = True
    opened: OpenTo | None = None


class RoleEntry(Schema):
    """A role."""

    name: RoleName
    description: Description | None = None
    enabled: bool = True
    menus: list[str] = msgspec.field(default_factory=list)
    buttons: list[str] = msgspec.field(default_factory=list)


ENTRIES: Final[dict[Kind, type[Schema]]] = {
    "menu": MenuEntry,
    "button": ButtonEntry,
    "service": ServiceEntry,
    "resource": ResourceEntry,
    "role": RoleEntry,
}
"""The type of the objects of each kind."""
