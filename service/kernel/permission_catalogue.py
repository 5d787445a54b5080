"""The catalogue of permission codes: the endpoints that each one opens, and the title of its Button.

To add a code: put it into ``permission_catalogue.csv``, or into the page of its feature, declare it on its
endpoint with ``@needs``, and write its lines into ``policies/endpoints.csv``. A start compares the three. A
new database is seeded with the Buttons of all codes, and an upgraded one gets the Button of a new code once.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.kernel.feature import declared


@dataclass(frozen=True, slots=True)
class Permission:
    """A code, the title of its Button, and the endpoints that it opens, such as ``GET /api/user/list``.

    A code that opens none is asked for by a line of ``policies/accounts.csv``.
    """

    code: str
    title: str
    opens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the administration interface: a Menu, and its permissions in the order of their Buttons.

    With ``own_root`` the Menu is at the top of the tree, and not below that of the service itself.
    """

    name: str
    title: str
    icon: str
    permissions: tuple[Permission, ...]
    own_root: bool = False


_PAGES: Final = (
    ("user", "Users", "user"),
    ("role", "Roles", "shield"),
    ("menu", "Menus", "menu"),
    ("resource", "Resources", "link"),
    ("service", "Services", "server"),
    ("policy", "Policy", "scale"),
    ("online", "Sessions", "activity"),
    ("operation-log", "Audit log", "list"),
    ("login-log", "Sign-ins", "log-in"),
    ("file", "Files", "file"),
    ("job", "Jobs", "clock"),
    ("doctor", "System health", "stethoscope"),
    ("activity", "Activity", "activity"),
)
"""The name, the title and the icon of each page of the trunk, in the order of the menu."""


def _catalogue() -> tuple[Page, ...]:
    """Return all pages: those of features stand behind the page that each names.

    Features that are off are included: their permissions are stored, and shared by all nodes.
    """
    pages = list(_trunk())
    for feature in declared():
        for page in feature.pages:
            place = next(number for number, each in enumerate(pages) if each.name == page.after)
            listed = (
                Permission(f"system:{page.name}:{action}", title, opens)
                for action, title, opens in page.permissions
            )
            pages.insert(place + 1, Page(page.name, page.title, page.icon, tuple(listed)))
    return tuple(pages)


def _trunk() -> Iterator[Page]:
    """Yield the pages with the permissions of ``permission_catalogue.csv``."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    for name, title, icon in _PAGES:
        listed = [
            Permission(
                f"system:{name}:{row['action']}", row["title"], tuple(filter(None, row["opens"].split("; ")))
            )
            for row in rows
            if row["page"] == name
        ]
        yield Page(name, title, icon, tuple(listed))


CATALOGUE: Final = _catalogue()
"""All pages, in the order of the menu."""


def permissions(pages: Iterable[Page]) -> dict[str, Permission]:
    """Return all permissions of ``pages`` by code, in their order."""
    return {permission.code: permission for page in pages for permission in page.permissions}


def codes_by_endpoint(pages: Iterable[Page]) -> dict[str, frozenset[str]]:
    """Return, by endpoint, the codes that open it; any one of them is enough."""
    by_endpoint: dict[str, set[str]] = {}
    for permission in permissions(pages).values():
        for endpoint in permission.opens:
            by_endpoint.setdefault(endpoint, set()).add(permission.code)
    return {endpoint: frozenset(codes) for endpoint, codes in by_endpoint.items()}


_ADMINISTERING_PAGES: Final = ("role", "menu", "resource", "service", "policy")
# Exports, imports and bulk acts have equivalents for single records; questions administer nothing.
_SPARED: Final = ("export", "import", "evaluate")


def _administering() -> Iterator[str]:
    """Yield the endpoints of the pages above, and the endpoints that give roles to users."""
    for page in CATALOGUE:
        if page.name in _ADMINISTERING_PAGES:
            for permission in page.permissions:
                if permission.code.rpartition(":")[2] not in _SPARED:
                    yield from permission.opens
    yield from ("GET /api/user/list", "GET /api/user/{id}", "PUT /api/user/{id}", "PATCH /api/user/{id}")


ADMINISTERING: Final = frozenset(_administering())
"""The endpoints that administer the policy: resources, bindings, menus, roles, users' roles, the policy.

The publisher refuses a change that would close one of them to a caller with all permissions.
"""


def markdown() -> str:
    """Return the catalogue as the table of the documentation."""
    lines = ["| Code | Button | Opens |", "| --- | --- | --- |"]
    lines += [
        f"| `{code.code}` | {page.title}: {code.title} | {', '.join(f'`{name}`' for name in code.opens)} |"
        for page in CATALOGUE
        for code in page.permissions
    ]
    return "\n".join(lines) + "\n"
