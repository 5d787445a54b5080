"""The edits that lead from one state to another."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Literal

from msgspec import UNSET

from service.authz.engine.paths import shape
from service.authz.engine.resource_index import comparable
from service.errors import Conflict, Refusal
from service.features.policy_history.sentences import sentence
from service.features.policy_history.state import (
    TYPES,
    Item,
    Kind,
    RoleState,
    RuleState,
    State,
    identity,
    ordered,
    short_name,
    state_of,
)
from service.kernel.services import OWN, object_of, split_object
from service.kernel.text import name_key, printable
from service.records.services import router_of

Action = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One differing object: ``before`` is None if it is created, ``after`` if it is deleted.

    ``key`` is its key after the edit, or before its deletion. ``says_rule``: the file states the request rule
    of the role, even if it is unchanged.
    """

    kind: Kind
    key: str
    before: Item | None
    after: Item | None
    old_key: str = ""
    says_rule: bool = False

    @property
    def action(self) -> Action:
        """Return the verb of the edit: ``create``, ``update`` or ``delete``."""
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "update"

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The differing fields, with their values before and after.

        A created object has its fields with other values than the defaults; their former value is None or ().
        A deleted object has none. ``path`` of a resource stands for new parameter names.
        """
        if self.after is None:
            return {}
        changed: dict[str, tuple[Any, Any]] = {}
        if self.before is not None and self.key != self.old_key:
            changed["path"] = (_path_of(self.old_key), _path_of(self.key))
        for field in fields(self.after):
            new = getattr(self.after, field.name)
            old = field.default if self.before is None else getattr(self.before, field.name)
            if old != new:
                kept = () if isinstance(new, tuple) else None
                changed[short_name(self.kind, field.name)] = (kept if self.before is None else old, new)
        return changed


def _path_of(key: str) -> str:
    return key[key.index("/") :]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits to make; ``left`` are stored objects that the file lacks and that stay."""

    edits: tuple[Edit, ...]
    left: tuple[tuple[Kind, str], ...]

    def __bool__(self) -> bool:
        return bool(self.edits)


def edits_between(before: State, desired: State, *, prune: bool) -> Edits:
    """Return the edits from ``before`` to ``desired``; deletions only with ``prune``.

    Without it, objects that ``desired`` lacks are ``left``.
    """
    edits: list[Edit] = []
    left: list[tuple[Kind, str]] = []
    for kind in TYPES:
        old, new = before.of(kind), desired.of(kind)
        known = {identity(kind, key): key for key in old}
        edits += _written(kind, old, new, known)
        kept = {identity(kind, key) for key in new}
        missing = [key for same, key in known.items() if same not in kept]
        if prune:
            edits += [Edit(kind, key, old[key], None, key) for key in missing]
        else:
            left += [(kind, key) for key in missing]
    return Edits(tuple(edits), tuple(left))


def _written(
    kind: Kind, old: Mapping[str, Item], new: Mapping[str, Item], known: Mapping[str, str]
) -> Iterator[Edit]:
    for key, given in new.items():
        was = known.get(identity(kind, key))
        item = _completed(given, None if was is None else old[was])
        if was is None:
            yield Edit(kind, key, None, item)
        elif was != key or old[was] != item:
            says_rule = isinstance(given, RoleState) and isinstance(given.request_rule, RuleState)
            yield Edit(kind, key, old[was], item, was, says_rule)


def _completed(given: Item, stored: Item | None) -> Item:
    """Return ``given`` with its omitted late fields set to the stored values or to their defaults."""
    kept: dict[str, Any] = {}
    for field in fields(given):
        if getattr(given, field.name) is UNSET:
            default = None if field.default is MISSING else field.default
            kept[field.name] = default if stored is None else getattr(stored, field.name)
    return replace(given, **kept)


def after(before: State, edits: Edits) -> State:
    """Return the state after ``edits`` of ``before``."""
    kinds: dict[Kind, dict[str, Any]] = {kind: dict(before.of(kind)) for kind in TYPES}
    for edit in edits.edits:
        kinds[edit.kind].pop(edit.old_key, None)
        if edit.after is not None:
            kinds[edit.kind][edit.key] = edit.after
    return state_of(kinds)


class EditRefusedError(Exception):
    """An edit was refused, so nothing was saved; ``refusal`` is the reason."""

    def __init__(self, edit: Edit, refusal: Refusal) -> None:
        super().__init__(f"{edit.kind} {edit.key}: {refusal.detail}")
        self.edit = edit
        self.refusal = refusal


def in_words(refused: EditRefusedError | Refusal) -> str:
    """Return a refusal as one line, with its lists, such as missing codes."""
    refusal = refused.refusal if isinstance(refused, EditRefusedError) else refused
    parts = [str(refused)]
    for name, values in refusal.extra.items():
        if isinstance(values, list) and values and not name.endswith("Sentences"):
            parts.append(f"{name}: {', '.join(map(_member, values))}")
    return "; ".join(parts)


def _member(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ": ".join(str(each) for name, each in value.items() if not name.endswith(("Code", "Params")))


def clashes(state: State, keys: Collection[str] | None = None) -> Iterator[tuple[Kind, str, str]]:
    """Yield objects of ``state`` that can't be stored together: kind, key, and the shared property.

    ``keys`` are the keys of all resources if ``state`` lacks some of them.
    """
    routes = {key: _requests(key, state) for key in (state.resources if keys is None else keys)}
    codes = {key: resource.resource_code for key, resource in state.resources.items()}
    names = {key: name_key(role.role_name) for key, role in state.roles.items()}
    yield from _shared("resource", "matches the same requests as", routes)
    yield from _shared("resource", "has the same code as", codes)
    yield from _shared("role", "has the same name as", names)


def require_no_clash(before: State, would_be: State) -> None:
    """Raise ``Conflict`` with all clashes in ``would_be`` that are not in ``before``."""
    known = set(clashes(before))
    if new := [clash for clash in clashes(would_be) if clash not in known]:
        reasons = "\n".join(f"{kind} {key}: {reason}" for kind, key, reason in new)
        raise Conflict(sentence("state_refused", reasons=reasons), rule="unique")


def _requests(key: str, state: State) -> str:
    """Return a text that is equal for resources that the service's router treats as the same."""
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
