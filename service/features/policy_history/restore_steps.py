"""The steps of a restore, with the changes that each step reports."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, Final

from service.features.policy_history.steps import Step, changed, created
from service.kernel.assurance import OF_PERSONS, SERVICE
from service.kernel.fields import camel
from service.kernel.services import object_of, split_object
from service.records.menus import Menu, MenuValues
from service.records.openings import Opening
from service.records.resources import Resource, ResourceValues
from service.records.services import ServiceValues, StoredService

_ROUTER: Final = ("ignore_case", "ignore_trailing_slash", "allow_preflight")


def create_button(code: str, values: MenuValues) -> Step:
    """Create a deleted Button again."""
    given = {"menu_type": "Button", **asdict(values)}
    changes = created(title=values.title, enabled=values.enabled)
    return Step("menu", "create", ("button", code), None, given, changes)


def update_button(menu: Menu, code: str, *, enabled: bool) -> Step:
    """Restore the code and state of a Button."""
    given = {"auth_mark": code, "enabled": enabled}
    changes = changed(authMark=(menu.auth_mark, code), enabled=(menu.enabled, enabled))
    return Step("menu", "update", ("button", code), menu.id, given, changes)


def delete_button(menu: Menu) -> Step:
    """Delete a Button created after the revision."""
    return Step("menu", "delete", ("button", menu.auth_mark or ""), menu.id)


def create_resource(values: ResourceValues) -> Step:
    """Register a deleted resource again."""
    changes = created(resourceName=values.resource_name, resourceCode=values.resource_code)
    return Step("resource", "create", ("resource", values.object), None, asdict(values), changes)


def update_resource(
    before: Resource, method: str, path: str, *, enabled: bool, demand: tuple[str, ...] | None = None
) -> Step:
    """Restore the route, state or demand of a resource; ``demand`` None keeps the stored demand."""
    given: dict[str, Any] = {"method": method, "path": path, "enabled": enabled}
    given |= {} if demand is None else demanding(demand)
    changes = changed(**{name: (getattr(before, name), value) for name, value in given.items()})
    name = object_of(before.service, f"{method} {path}")
    return Step("resource", "update", ("resource", name), before.id, given, changes)


def demanding(demand: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a resource whose lines of the layer ``assurance`` have the words ``demand``."""
    word = next((word for word in demand if word in OF_PERSONS), None)
    return {"assurance": word and word.removeprefix("@"), "services": SERVICE in demand}


def delete_resource(resource: Resource) -> Step:
    """Delete a resource created after the revision."""
    return Step("resource", "delete", ("resource", resource.object), resource.id)


def bind(name: str, resource_id: int | None, before: Collection[str], after: Collection[str]) -> Step:
    """Bind a resource to the Buttons of codes; one without ``resource_id`` is created before."""
    codes = sorted(after)
    changes = changed(buttons=(sorted(before), codes))
    return Step("resource", "bind", ("resource", name), resource_id, codes, changes)


def create_service(name: str, values: ServiceValues) -> Step:
    """Register a deleted service again."""
    given = {"name": name, **asdict(values)}
    return Step("service", "create", ("service", name), None, given, created(**_router(values)))


def update_service(service: StoredService, values: ServiceValues) -> Step:
    """Restore the router settings of a service."""
    given = {name: getattr(values, name) for name in _ROUTER}  # other fields stay unchanged
    before, after = _router(service), _router(values)
    changes = changed(**{name: (before[name], after[name]) for name in before})
    return Step("service", "update", ("service", service.name), service.id, given, changes)


def delete_service(service: StoredService) -> Step:
    """Delete a service created after the revision."""
    return Step("service", "delete", ("service", service.name), service.id)


def open_up(name: str, resource_id: int | None, code: str) -> Step:
    """Restore the opening of another service's resource, or of its unregistered requests, with its expiry."""
    given = {"service": split_object(name)[0], "code": code}
    return Step("opening", "create", ("resource", name), resource_id, given, created(code=code))


def close(opening: Opening) -> Step:
    """Delete an opening created after the revision."""
    return Step("opening", "delete", ("opening", opening.object), opening.id)


def _router(values: ServiceValues) -> dict[str, Any]:
    return {camel(name): getattr(values, name) for name in _ROUTER}
