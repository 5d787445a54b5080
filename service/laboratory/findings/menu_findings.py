"""Find faults in the tree of menus, for front ends that build their routes from it."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from service.kernel.core_sentences import sentence
from service.laboratory.findings.findings import Finding
from service.records import menus as stored
from service.records.database.transactions import Connection

NAME: Final = "menu-name-doubled"
PATH: Final = "menu-path-doubled"
REDIRECT: Final = "menu-redirect-nowhere"

CODES: Final = (NAME, PATH, REDIRECT)
"""The codes of the findings about menus."""

_URL: Final = re.compile(r"https?://")
_PARAMETER: Final = re.compile(r":[^/]+")


@dataclass(frozen=True, slots=True)
class PlacedMenu:
    """An enabled Menu: its place in the tree, and the fields of a front-end route."""

    id: int
    parent_id: int | None
    title: str
    name: str | None
    path: str | None
    redirect: str | None


async def placed_menus(connection: Connection) -> list[PlacedMenu]:
    """Return the enabled Menus that are stored."""
    return [
        PlacedMenu(each.id, each.parent_id, each.title, each.name, each.path, each.redirect)
        for each in await stored.every(connection)
        if each.menu_type == "Menu" and each.enabled
    ]


def menu_findings(menus: Collection[PlacedMenu]) -> list[Finding]:
    """Return the route names and paths that several menus have, and redirects to paths that no menu has."""
    known = {menu.id: menu for menu in menus}
    paths = {menu.id: path for menu in menus if (path := _path_of(menu, known)) is not None}
    names = {menu.id: menu.name for menu in menus if menu.name is not None}
    return [
        *_doubled(NAME, names, known),
        *_doubled(PATH, paths, known),
        *_leading_nowhere(menus, {*paths.values()}),
    ]


def _doubled(code: str, values: Mapping[int, str], known: Mapping[int, PlacedMenu]) -> Iterator[Finding]:
    having: defaultdict[str, list[int]] = defaultdict(list)
    for menu_id, value in values.items():
        having[value].append(menu_id)
    for value, ids in sorted(having.items()):
        if len(ids) > 1:
            titles = [f"{known[menu_id].title} ({menu_id})" for menu_id in sorted(ids)]
            reason = sentence("menu_name_shared" if code == NAME else "menu_path_shared", menus=titles)
            yield Finding(code, value, reason)


def _leading_nowhere(menus: Collection[PlacedMenu], paths: Collection[str]) -> Iterator[Finding]:
    patterns = [re.compile(_PARAMETER.sub("[^/]+", re.escape(path).replace(r"\:", ":"))) for path in paths]
    for menu in sorted(menus, key=lambda menu: menu.id):
        if menu.redirect is None:
            continue
        target = re.split(r"[?#]", menu.redirect)[0]
        if not any(pattern.fullmatch(target) for pattern in patterns):
            place = f"{menu.title} ({menu.id})"
            yield Finding(REDIRECT, place, sentence("menu_redirects_nowhere", path=menu.redirect))


def _path_of(menu: PlacedMenu, known: Mapping[int, PlacedMenu]) -> str | None:
    """Return the whole path of a menu, also of a relative one; None for a URL, and for a menu without one."""
    path, at = menu.path, menu
    if path is None or _URL.match(path):
        return None
    while not path.startswith("/") and at.parent_id is not None and at.parent_id in known:
        at = known[at.parent_id]
        if at.path is not None and not _URL.match(at.path):
            path = f"{at.path.rstrip('/')}/{path}"
    return path if path.startswith("/") else f"/{path}"
