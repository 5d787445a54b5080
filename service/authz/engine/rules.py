"""Policy lines: their grammar, and the strict reader of policy files.

A plain Casbin reads the files too; it splits lines at commas, gives meaning to brackets and ``#``, and strips
spaces. The grammar here allows none of those characters inside a value, so that both readers see the same
lines.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from service.authz.engine.errors import PolicyError
from service.authz.engine.paths import registered_fault
from service.kernel.codes import is_code
from service.kernel.services import (
    ACTIONS,
    PORTCULLIS,
    is_other_service,
    is_service_name,
    split_object,
)

RESOURCE: Final = "resource"
"""The layer of resources that administrators registered and bound."""
ENDPOINT: Final = "endpoint"
"""The layer of endpoints that the code declares."""
GRANT: Final = "grant"
"""The layer of delegation: may the caller hand out, take away, bind or act on a permission code?"""
PERMISSION: Final = "permission"
"""The layer of codes that other services ask about: may the caller do what a permission code stands for?"""
SERVICE: Final = "service"
"""The layer of services: who may administer the resources of each, and how routers of others read."""
LAYERS: Final = (RESOURCE, ENDPOINT, GRANT, PERMISSION, SERVICE)

OF_CODES: Final = frozenset({GRANT, PERMISSION})
"""The layers whose objects are permission codes: each line names one code twice."""

UNREGISTERED: Final = "@unregistered"
"""The object in the resource layer of a request without a matching resource."""
NO_SESSION: Final = "@no-session"
"""The object in the resource layer of a request by a caller who is not logged in."""
AMBIGUOUS: Final = "@ambiguous"
"""The object of a request that the router of another service may read in two ways; it never has a line."""
UNKNOWN: Final = "@unknown"
"""The object of a request to a service, or to a route of this one, that there is not; never with a line."""

ANYONE: Final = "@anyone"
LOGIN: Final = "@login"
NOBODY: Final = "@nobody"

IGNORE_CASE: Final = "@ignore-case"
IGNORE_TRAILING_SLASH: Final = "@ignore-trailing-slash"
ALLOW_PREFLIGHT: Final = "@allow-preflight"

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

_WORDS = frozenset({ANYONE, LOGIN, NOBODY})
_SITUATIONS = frozenset({UNREGISTERED, NO_SESSION})
_ROUTER = (NOBODY, IGNORE_CASE, IGNORE_TRAILING_SLASH, ALLOW_PREFLIGHT)


class Rule(NamedTuple):
    """One policy line; as text, the line itself: ``p, endpoint, GET /api/role/list, system:role:list``."""

    layer: str
    object: str
    code: str

    def __str__(self) -> str:
        return f"p, {self.layer}, {self.object}, {self.code}"


def object_fault(layer: str, name: str) -> str | None:
    """Return why ``name`` can't be an object of ``layer``; None if it can."""
    if layer not in LAYERS:
        return f"the layer is {', '.join(LAYERS[:-1])} or {LAYERS[-1]}, not {layer!r}"
    if layer in OF_CODES:
        return None if is_code(name) else f"the object is a permission code, not {name!r}"
    if layer == SERVICE:
        return _service_fault(name)
    if name in _SITUATIONS:
        return None if layer == RESOURCE else f"{name} is an object of the {RESOURCE} layer"
    return _route_fault(*split_object(name) if layer == RESOURCE else (PORTCULLIS, name), whole=name)


def _service_fault(name: str) -> str | None:
    service, space, action = name.partition(" ")
    if not space:
        return None if is_other_service(name) else f"the object is the name of another service, not {name!r}"
    if action in ACTIONS and is_service_name(service):
        return None
    return f"the object is '<service> <action>' with an action of {', '.join(ACTIONS)}, not {name!r}"


def _route_fault(service: str, route: str, *, whole: str) -> str | None:
    if whole != route and not is_other_service(service):
        return f"{service!r} can't be the name of another service"
    other = service != PORTCULLIS
    if other and route == UNREGISTERED:
        return None
    method, space, path = route.partition(" ")
    if method not in METHODS or not space:
        return f"the object is '<method> <path>' with a method of {', '.join(METHODS)}, not {route!r}"
    fault = registered_fault(path, may_end_in_slash=other)
    return f"{fault}; not {path!r}" if fault else None


def code_fault(layer: str, name: str, code: str) -> str | None:
    """Return why ``code`` can't be the code of a line of object ``name`` in ``layer``; None if it can."""
    if layer == SERVICE:
        if " " in name:
            return None if is_code(code) else f"the code is a permission code, not {code!r}"
        return None if code in _ROUTER else f"the code is one of {', '.join(_ROUTER)}, not {code!r}"
    if code in _WORDS or is_code(code):
        return None
    return f"the code is a permission code, {ANYONE}, {LOGIN} or {NOBODY}, not {code!r}"


def checked(rows: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Rule]:
    """Yield a Rule for each ``(place, columns)``; raises PolicyError with all faults after the last one.

    Columns are those after the ``p``. Equal texts become one string, since a hundred thousand lines share few
    codes.
    """
    faults: list[str] = []
    good_codes: set[str] = set()
    good_place: tuple[str, str] | None = None
    for where, columns in rows:
        if len(columns) != len(Rule._fields):
            faults.append(
                f"{where}: a line is 'p, layer, object, code', this one has {len(columns) + 1} columns"
            )
            continue
        rule = Rule(*map(sys.intern, columns))
        # Most lines have the same object as the previous one, and a code seen before.
        fault = None if rule[:2] == good_place else object_fault(rule.layer, rule.object)
        checked_before = rule.layer != SERVICE and rule.code in good_codes
        fault = fault or (None if checked_before else code_fault(*rule))
        if rule.layer in OF_CODES and rule.code != rule.object:
            fault = (
                fault
                or f"a line of the {rule.layer} layer names one code twice, "
                f"not {rule.object!r} and {rule.code!r}"
            )
        if fault:
            faults.append(f"{where}: {fault}")
            continue
        good_place = rule[:2]
        if rule.layer != SERVICE:  # which has words of its own
            good_codes.add(rule.code)
        yield rule
    if faults:
        raise PolicyError(*faults)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the lines of a policy file in order; raises PolicyError with file and line of every fault.

    Blank lines and lines that start with ``#`` are skipped. Every other line is ``p, layer, object, code``.
    Repeated lines are refused, since an edit could miss one of them.
    """
    return tuple(checked(_rows(path)))


def _rows(path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    try:
        # Bytes, since universal newlines would split lines where Casbin does not.
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path} can't be read: {error}") from error
    seen = set()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        where = f"{path}:{number}"
        if line in seen:
            raise PolicyError(f"{where}: '{line}' is there already")
        seen.add(line)
        kind, *columns = line.split(", ")
        if kind != "p":
            raise PolicyError(f"{where}: a line starts with 'p, ', this one with {kind[:20]!r}")
        yield where, columns


def as_csv(rules: Iterable[Rule]) -> str:
    """Return ``rules`` as the text of a policy file, for this reader and for any Casbin."""
    return "".join(f"{rule}\n" for rule in rules)
