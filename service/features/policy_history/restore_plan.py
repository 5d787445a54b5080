"""Computes the edits that restore the shared lines of a past revision."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from service.administration.menu_edits import place_fault
from service.authz.engine import rules
from service.authz.engine.paths import shape
from service.authz.publishing.contributions import contributed_layers
from service.errors import Conflict
from service.features.policy_history import store_row_history as policy_row_history
from service.features.policy_history.restored_rules import is_of_rule, plan_rules
from service.features.policy_history.restored_services import plan_services
from service.features.policy_history.sentences import sentence
from service.features.policy_history.steps import Step, changed, created, creation, update
from service.features.policy_history.store_row_history import PastButton, PastResource
from service.kernel.assurance import OF_PERSONS
from service.kernel.assurance import SERVICE as BY_SERVICES
from service.kernel.coded_sentences import Sentence
from service.kernel.services import PORTCULLIS, is_opening_word, split_object
from service.kernel.text import seen
from service.records import bindings, menus, openings, resources
from service.records.database.transactions import Connection
from service.records.menus import Menu
from service.records.openings import Opening
from service.records.published import policy_history
from service.records.resources import Resource

MOST: Final = 1000
"""The maximum number of resources and permission codes whose lines a restore adds or removes."""

_DEMANDED: Final = rules.assured(rules.RESOURCE, "")

_NAMED: Final = 5  # the roles of a Button listed in a refusal


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A resource or permission code that can't be restored, and the reason."""

    name: str
    reason: Sentence


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The target state of a resource: bound to the Buttons of ``codes``; ``row`` is its past row, if kept.

    ``word`` belongs to its opening, None without an opening. ``demand`` has the past demand; None keeps the
    stored demand if the revision is older than demands.
    """

    name: str
    codes: tuple[str, ...]
    row: PastResource | None
    word: str | None
    demand: tuple[str, ...] | None


async def plan(connection: Connection, revision: int, newest: int) -> tuple[list[Step], list[Obstacle]]:
    """Return the edits from ``newest`` back to the lines of ``revision``, and the objects that can't return.

    Every object that a line names is restored completely. A resource gets its past bindings, including
    disabled Buttons, and those Buttons get their past state. Objects whose lines change by that are restored
    too. Everything else stays. The caller holds ``revisions.lock``. Raises ``Conflict`` if more than ``MOST``
    resources and codes differ.
    """
    changes = await policy_history.difference(connection, newest, revision)
    demands = await policy_history.has_layer(connection, revision, rules.ASSURANCE)
    names = {
        (rules.RESOURCE, line.object.removeprefix(_DEMANDED)) if line.layer == rules.ASSURANCE else line[:2]
        for line in (*changes.added, *changes.removed)
        # Lines of features follow from rows that stay.
        if (demands or line.layer != rules.ASSURANCE)
        and not (is_of_rule(line) or line.layer in contributed_layers())
    }
    if len(names) > MOST:
        raise Conflict(
            sentence("restore_too_large", count=len(names), revision=revision, most=MOST),
            rule="limit",
        )
    kept = await policy_row_history.nearest(connection, revision)
    planner = _Planner(connection, revision, newest if kept is None else kept)
    leaving = [line.object for line in changes.removed if line.layer == rules.GRANT]
    if await policy_history.has_layer(connection, revision, rules.PERMISSION):
        closed = {line.object for line in changes.removed if line.layer == rules.PERMISSION}
        planner.states(
            enabled=[line.object for line in changes.added if line.layer == rules.PERMISSION],
            disabled=closed.difference(leaving),
        )
    await planner.buttons([line.object for line in changes.added if line.layer == rules.GRANT], leaving)
    await plan_services(connection, planner.rows, changes, planner.steps)
    differing = (*changes.added, *changes.removed)
    lost = await plan_rules(connection, revision, planner.rows, differing, planner.steps)
    planner.obstacles += [Obstacle(*reason) for reason in lost]
    changed = {name for layer, name in names if layer == rules.RESOURCE}
    await planner.rests({name for name in changed if name.endswith(rules.UNREGISTERED)})
    await planner.resources({name for name in changed if not name.endswith(rules.UNREGISTERED)})
    steps = sorted(planner.steps, key=lambda step: (step.place, step.name))
    return steps, sorted(planner.obstacles, key=lambda item: item.name)


class _Planner:
    """Plans one restore from the rows of revision ``rows``: ``revision`` or the next one with kept rows."""

    def __init__(self, connection: Connection, revision: int, rows: int) -> None:
        self._connection = connection
        self._revision = revision
        self.rows = self._rows = rows
        self._exact = rows == revision
        self.steps: list[Step] = []
        self.obstacles: list[Obstacle] = []
        self._returning: dict[str, tuple[Menu | None, PastButton]] = {}
        self._leaving: list[Menu] = []
        self._codes: set[str] = set()
        self._states: dict[str, bool] = {}
        self._wanted: dict[str, _Wanted] = {}

    def states(self, *, enabled: Collection[str], disabled: Collection[str]) -> None:
        """Set the wanted state, enabled or disabled, of Buttons by their codes."""
        self._states = {**dict.fromkeys(enabled, True), **dict.fromkeys(disabled, False)}

    async def buttons(self, returning: Collection[str], leaving: Collection[str]) -> None:
        """Plan the Buttons to create and delete; their states follow from the resources."""
        connection = self._connection
        past = await policy_row_history.buttons_at(connection, self._rows, returning)
        going = {button.id: button for button in (await menus.with_codes(connection, leaving)).values()}
        for code in returning:
            if (row := past.get(code)) is None:
                self._refuse(code, sentence("button_title_not_stored"))
            else:
                self._returning[code] = going.pop(row.menu_id, None), row
        self._leaving = list(going.values())
        for menu in self._leaving:
            used = await menus.uses_of(connection, menu.id, _NAMED)
            if used.role_count:
                self._refuse(str(menu.auth_mark), sentence("button_used_by_roles", roles=used.roles))
            else:
                self.steps.append(Step("menu", "delete", ("button", str(menu.auth_mark)), menu.id))
        stored = {button.auth_mark for button in await menus.button_codes(connection)}
        self._codes = stored.difference(leaving).union(returning)

    async def rests(self, names: Collection[str]) -> None:
        """Plan the openings of unregistered requests to other services."""
        lines = await policy_history.codes_at(self._connection, self._revision, names)
        for name in names:
            stored = await openings.of(self._connection, split_object(name)[0], None)
            self._open(name, None, stored, _word(name, lines.get(name, ())))

    def _open(self, name: str, resource_id: int | None, stored: Opening | None, word: str | None) -> None:
        if (None if stored is None else stored.word) == word:
            return
        if stored is not None:
            self.steps.append(Step("opening", "delete", ("opening", stored.object), stored.id))
        if word is not None:
            given = {"service": split_object(name)[0], "code": word}
            self.steps.append(
                Step("opening", "create", ("resource", name), resource_id, given, created(code=word))
            )

    async def resources(self, names: set[str]) -> None:
        """Plan the resources of these names, and those that depend on changed Buttons."""
        moved = [menu.id for menu, _ in self._returning.values() if menu is not None]
        freed = await bindings.resources_of_any(self._connection, [button.id for button in self._leaving])
        names |= {resource.object for resource in freed if resource.enabled}
        names |= await self._open_by(moved)
        pending = names
        seen: set[str] = set()
        while pending:
            seen |= pending
            await self._want(pending)
            pending = await self._open_by(await self._changing()) - seen
        await self._place(seen, [resource for resource in freed if not resource.enabled])
        await self._set_states()

    async def _open_by(self, menu_ids: Collection[int]) -> set[str]:
        """Return the names of the enabled resources bound to one of these Buttons."""
        bound = await bindings.resources_of_any(self._connection, menu_ids) if menu_ids else []
        return {resource.object for resource in bound if resource.enabled}

    async def _changing(self) -> list[int]:
        """Return the ids of the Buttons with a changed state."""
        stored = await menus.with_codes(self._connection, self._states)
        return [button.id for code, button in stored.items() if button.enabled != self._states[code]]

    async def _want(self, names: Collection[str]) -> None:
        """Determine the past state of the resources of these names, and from that the state of Buttons."""
        lines = await policy_history.codes_at(self._connection, self._revision, names)
        demanded = [f"{_DEMANDED}{name}" for name in lines]
        demands = await policy_history.codes_at(self._connection, self._revision, demanded, rules.ASSURANCE)
        rows = {
            past_resource.object: past_resource
            for past_resource in await policy_row_history.resources_at(
                self._connection, self._rows, objects=names
            )
        }
        ids = [past_resource.resource_id for past_resource in rows.values()]
        bound = await policy_row_history.bound_at(self._connection, self._rows, ids)
        for name, opens in lines.items():
            row = rows.get(name)
            codes = self._bound(name, opens, None if row is None else bound.get(row.resource_id, {}))
            demand = demands.get(f"{_DEMANDED}{name}")
            self._wanted[name] = _Wanted(
                name, codes, row, _word(name, opens), None if demand is None else tuple(demand)
            )
            for code in codes:
                if self._states.setdefault(code, code in opens) != (code in opens):
                    self._refuse(name, sentence("button_state_not_stored", code=code))

    def _bound(self, name: str, opens: list[str], bound: dict[str, bool] | None) -> tuple[str, ...]:
        """Return the codes that the resource was bound to: as kept, or derived from its lines."""
        opens = _codes(name, opens)
        if bound is not None and _opens(name, bound) == opens:
            codes = tuple(code for code in bound if code in self._codes)
        else:
            codes = tuple(code for code in opens if code not in (rules.LOGIN, rules.NOBODY))
        if opens == [rules.NOBODY] and not codes and split_object(name)[0] == PORTCULLIS:
            self._refuse(name, sentence("disabled_buttons_not_stored"))
        return codes

    async def _place(self, names: Collection[str], freed: Iterable[Resource]) -> None:
        """Plan the edits of resources; ``freed`` are disabled resources bound to Buttons to be deleted."""
        targets = {shape(target.name): target for target in self._wanted.values()}
        rows = [target.row for target in targets.values() if target.row is not None]
        candidates = await resources.matching(
            self._connection,
            shapes={_route(shape(name)) for name in names},
            ids=[row.resource_id for row in rows],
            codes=[row.resource_code for row in rows],
        )
        stored = {resource.id: resource for resource in candidates}
        at = {shape(resource.object): resource for resource in candidates}
        free = (resource for key, resource in at.items() if key not in targets)
        spare = {
            resource.id: resource for resource in free if not resource.enabled or resource.object in names
        }
        going = {id_: resource for id_, resource in spare.items() if resource.enabled}
        going |= {
            resource.id: resource for resource in freed if resource.id in spare or resource.id not in stored
        }
        adopted: list[tuple[Resource, _Wanted]] = []
        missing: list[_Wanted] = []
        for key, target in targets.items():
            if (there := at.get(key)) is not None:
                adopted.append((there, target))
            elif target.row is not None and (there := _same(target.row, spare)) is not None:
                del spare[there.id]
                going.pop(there.id, None)
                adopted.append((there, target))
            else:
                missing.append(target)
        bound = await bindings.codes_of(self._connection, [*(resource.id for resource, _ in adopted), *going])
        for there, target in adopted:
            self._adapt(there, target, bound.get(there.id, []))
            opening = await openings.of(self._connection, there.service, there.id)
            self._open(target.name, there.id, opening, target.word)
        deleted = await self._retire(going, bound)
        await self._create(missing, deleted)

    def _adapt(self, stored: Resource, target: _Wanted, bound: Collection[str]) -> None:
        """Plan the edits of an existing resource."""
        _, method, path = _route(target.name)
        fields = {"method": method, "path": path, "enabled": True}
        if target.demand not in (None, stored.demand):
            fields |= _demanding(target.demand)
        if any(getattr(stored, field) != value for field, value in fields.items()):
            self.steps.append(update("resource", ("resource", target.name), stored, **fields))
        self._bind(target.name, stored.id, bound, target.codes)

    def _bind(
        self, name: str, resource_id: int | None, bound: Collection[str], codes: Collection[str]
    ) -> None:
        # Compare by code: a Button that gets its code back is the same Button, and already bound.
        renamed = {
            str(menu.auth_mark): code for code, (menu, _) in self._returning.items() if menu is not None
        }
        now = {renamed.get(code, code) for code in bound}
        if now != {*codes}:
            changes = changed(buttons=(sorted(bound), sorted(codes)))
            self.steps.append(
                Step("resource", "bind", ("resource", name), resource_id, sorted(codes), changes)
            )

    async def _retire(self, going: dict[int, Resource], bound: dict[int, list[str]]) -> set[int]:
        """Plan the removal of resources without past lines; return the ids of deleted ones.

        Resources that were disabled then are disabled, others are deleted. If their past is not kept, they
        are disabled, so that nothing is lost.
        """
        past = {
            past_resource.resource_id: past_resource
            for past_resource in await policy_row_history.resources_at(
                self._connection, self._rows, ids=going
            )
        }
        then = await policy_row_history.bound_at(self._connection, self._rows, past)
        leaving = {button.auth_mark for button in self._leaving}
        deleted = set()
        for resource in going.values():
            row, record = past.get(resource.id), ("resource", resource.object)
            if self._exact and (row is None or row.enabled):
                self.steps.append(Step("resource", "delete", record, resource.id))
                deleted.add(resource.id)
                continue
            if resource.enabled:
                self.steps.append(update("resource", record, resource, enabled=False))
            if leaving.intersection(bound.get(resource.id, [])):
                if self._exact:
                    self._bind(resource.object, resource.id, bound[resource.id], then.get(resource.id, {}))
                else:
                    self._refuse(resource.object, sentence("buttons_not_stored"))
        return deleted

    async def _create(self, missing: Collection[_Wanted], deleted: Collection[int]) -> None:
        """Plan the creation of missing resources whose names are kept and free."""
        rows = {target.name: target.row for target in missing if target.row is not None}
        codes = [row.resource_code for row in rows.values()]
        taken = {
            resource.resource_code: resource.id
            for resource in await resources.matching(self._connection, codes=codes)
            if resource.id not in deleted
        }
        for target in missing:
            row = rows.get(target.name)
            if row is None:
                self._refuse(target.name, sentence("resource_name_not_stored"))
            elif row.resource_code in taken:
                code, holder = row.resource_code, taken[row.resource_code]
                reason = sentence("code_of_other_resource", code=code, resource=holder)
                self._refuse(target.name, reason)
            else:
                given = {
                    **asdict(row),
                    **_demanding(target.demand or ()),
                    "resource_name": seen(row.resource_name),
                    "description": row.description and seen(row.description, lines=True),
                    "enabled": True,
                }
                del given["resource_id"]
                record = ("resource", row.object)
                self.steps.append(creation("resource", record, given, "resource_name", "resource_code"))
                self._open(target.name, None, None, target.word)
                self._bind(target.name, None, (), target.codes)

    async def _set_states(self) -> None:
        """Plan the edits of Buttons: creations and changed states."""
        parents = (
            {parent.id: parent for parent in await menus.every(self._connection)} if self._returning else {}
        )
        for code, (menu, row) in self._returning.items():
            enabled = self._states.get(code, row.enabled)
            if menu is not None:
                self._set_button(menu, code, enabled=enabled)
                continue
            given = {
                "menu_type": "Button",
                "title": seen(row.title),
                "parent_id": row.parent_id if _fits(parents, row.parent_id) else None,
                "name": row.name and seen(row.name),
                "icon": row.icon and seen(row.icon),
                "auth_mark": code,
                "sort": row.sort,
                "enabled": enabled,
            }
            self.steps.append(creation("menu", ("button", code), given, "title", "enabled"))
        stored = await menus.with_codes(self._connection, self._states)
        for code, menu in stored.items():
            if menu.enabled != self._states[code]:
                self._set_button(menu, code, enabled=self._states[code])

    def _set_button(self, menu: Menu, code: str, *, enabled: bool) -> None:
        self.steps.append(update("menu", ("button", code), menu, auth_mark=code, enabled=enabled))

    def _refuse(self, name: str, reason: Sentence) -> None:
        self.obstacles.append(Obstacle(name, reason))


def _same(row: PastResource, spare: dict[int, Resource]) -> Resource | None:
    """Return the resource of ``row``, or the one created with its code after its deletion."""
    if row.resource_id in spare:
        return spare[row.resource_id]
    alike = (resource for resource in spare.values() if resource.service == row.service)
    return next((resource for resource in alike if resource.resource_code == row.resource_code), None)


def _opens(name: str, bound: dict[str, bool]) -> list[str]:
    """Return the codes of the lines of a resource by the Buttons that it is bound to: see ``derive``."""
    if not bound:
        return [rules.LOGIN] if split_object(name)[0] == PORTCULLIS else [rules.NOBODY]
    return sorted(code for code, enabled in bound.items() if enabled) or [rules.NOBODY]


def _fits(known: dict[int, Menu], parent_id: int | None) -> bool:
    """Return whether a Button can be placed below ``parent_id``."""
    if parent_id is None or parent_id not in known or known[parent_id].menu_type != "Menu":
        return False
    parents = {menu.id: menu.parent_id for menu in known.values()}
    return place_fault(parents, None, parent_id) is None


def _route(name: str) -> tuple[str, str, str]:
    """Return the service, the method and the path of the resource of this name."""
    service, route = split_object(name)
    method, _, path = route.partition(" ")
    return service, method, path


def _word(name: str, codes: Iterable[str]) -> str | None:
    """Return the word of the opening of another service's object, with its expiry, from its lines' codes."""
    if split_object(name)[0] == PORTCULLIS:
        return None
    return next(filter(is_opening_word, codes), None)


def _codes(name: str, codes: list[str]) -> list[str]:
    """Return the codes of a resource without that of its opening."""
    if _word(name, codes) is None:
        return codes
    return [code for code in codes if not is_opening_word(code)] or [rules.NOBODY]


def _demanding(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a resource whose lines of the layer ``assurance`` have these ``words``."""
    of_persons = next((word for word in words if word in OF_PERSONS), None)
    return {"assurance": of_persons and of_persons.removeprefix("@"), "services": BY_SERVICES in words}
