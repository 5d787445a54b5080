"""Why a state can't be applied: what a plan tells is what an apply is refused for, in the same words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from service.administration.state import Kind, State, ordered
from service.administration.state_edits import Edit
from service.authz.engine.paths import shape
from service.authz.engine.resource_index import comparable
from service.errors import Conflict, Refusal
from service.kernel.services import OWN, object_of, split_object
from service.kernel.text import name_key, printable
from service.records.services import router_of


class EditRefusedError(Exception):
    """An edit was refused, so that nothing was saved; ``refusal`` says why."""

    def __init__(self, edit: Edit, refusal: Refusal) -> None:
        super().__init__(f"{edit.kind} {edit.key}: {refusal.detail}")
        self.edit = edit
        self.refusal = refusal


def in_words(refused: EditRefusedError | Refusal) -> str:
    """Return a refusal as one line, with its lists, such as the codes that are lacking."""
    refusal = refused.refusal if isinstance(refused, EditRefusedError) else refused
    parts = [str(refused)]
    for name, values in refusal.extra.items():
        if isinstance(values, list) and values:
            parts.append(f"{name}: {', '.join(map(_member, values))}")
    return "; ".join(parts)


def _member(value: Any) -> str:
    return ": ".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def clashes(state: State, keys: Collection[str] | None = None) -> Iterator[tuple[Kind, str, str]]:
    """Yield the objects of ``state`` that can't be stored beside others: kind, key, and what they share.

    ``keys`` are those of the resources if ``state`` lacks some of them.
    """
    routes = {key: _requests(key, state) for key in (state.resources if keys is None else keys)}
    codes = {key: resource.resource_code for key, resource in state.resources.items()}
    names = {key: name_key(role.role_name) for key, role in state.roles.items()}
    yield from _shared("resource", "fits the same requests as", routes)
    yield from _shared("resource", "has the same code as", codes)
    yield from _shared("role", "has the same name as", names)


def require_no_clash(before: State, would_be: State) -> None:
    """Check that no objects of ``would_be`` clash that do not in ``before``; Conflict with all that do."""
    known = set(clashes(before))
    if new := [clash for clash in clashes(would_be) if clash not in known]:
        raise Conflict("\n".join(f"{kind} {key}: {reason}" for kind, key, reason in new), rule="unique")


def _requests(key: str, state: State) -> str:
    """Return what is equal for resources that the router of their service takes for one."""
    service, route = split_object(key)
    method, _, path = route.partition(" ")
    values = state.services.get(service)
    router = OWN if values is None else router_of(service, values)
    return object_of(service, f"{method} {comparable(router, shape(path))}")


def _shared(kind: Kind, how: str, values: Mapping[str, str]) -> Iterator[tuple[Kind, str, str]]:
    first: dict[str, str] = {}
    for key in ordered(kind, values):
        if (other := first.setdefault(values[key], key)) != key:
            yield kind, key, f"{how} {printable(other)}"
