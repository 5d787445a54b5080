"""What views of the console cost in a browser when there are 20,000 users, 10,000 resources and 500 roles.

The goals are those of an installation of this size: each view settles within a second, and no task holds up
the main thread of the browser for more than 200 ms. Each view is visited in a small installation right before
it is in the large one, by the administrator, in Chromium without a screen. A view is settled when no request
is open and nothing has changed for 0.5 seconds. The server is one worker on one core; browser, load and
database share the rest. Chromium must be installed.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from playwright.sync_api import Page, sync_playwright

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.console_data import LARGE, MEDIUM, SMALL, install
from tests.benchmarks.console_visits import Cost, Visitor
from tests.benchmarks.frame.results import Note, Pace, Result, at_most, result
from tests.benchmarks.installation import environment
from tests.benchmarks.servers import pin_to_last_core, serving_worker
from tests.support.chromium import chromium_path
from tests.support.databases import database

SECONDS, KILOBYTES, TASK, NODES = 1.0, 500.0, 200.0, 5_000.0
"""What a view may take: until it is settled, in an answer, of the main thread at once (ms), in the page."""
IDS: Final = {
    "user": 'SELECT max(id) FROM sys."user"',
    "name": 'SELECT user_name FROM sys."user" ORDER BY id DESC LIMIT 1',
    "role": "SELECT id FROM sys.role WHERE role_code = 'team-7'",
    "all": "SELECT id FROM sys.role WHERE role_code = 'super'",
    "menu": "SELECT id FROM sys.menu WHERE name = 'area1-page3'",
    "button": "SELECT id FROM sys.menu WHERE auth_mark = 'area1:page3:do2'",
    "resource": "SELECT id FROM sys.resource WHERE resource_code = 'thing.77'",
    "service": "SELECT id FROM sys.service WHERE name = 'service-7'",
    "entry": "SELECT max(id) FROM sys.operation_log",
    "newest": "SELECT max(revision) FROM sys.policy_revision",
    "pages": 'SELECT count(*) / 20 FROM sys."user"',
    "rows": "SELECT count(*) / 20 FROM sys.resource",
}
"""What stands in addresses, by its name there."""
ADDRESSES: Final = """
/ /account /account/devices /account/sign-ins
/users /users?page=2 /users?page={pages} /users?size=100 /users?userName=abc /users?email=@example
/users?sort=-updateTime /users/new /users/import /users/{user} /users/{user}/edit
/users/{user}/access /users/{user}/sessions /users/{user}/history
/roles /roles?size=100 /roles/new /roles/import /roles/{role} /roles/{all} /roles/{role}/edit
/roles/{role}/members /roles/{role}/access /roles/{role}/history
/menus /menus/new?type=Button /menus/{menu} /menus/{button} /menus/{button}/edit
/files /files?size=100 /online /online?size=100 /doctor /jobs
/logs/operations /logs/operations?size=100 /logs/operations?decision=deny /logs/operations?follow=true
/logs/operations/{entry} /logs/logins /logs/logins?size=100 /logs/logins?follow=true
/resources /resources?page={rows} /resources?size=100 /resources?service=service-7 /resources?path=thing7
/resources/new /resources/coverage /resources/coverage?size=100 /resources/coverage?show=lost
/resources/import /resources/{resource} /resources/{resource}/edit /resources/{resource}/history
/services /services/new /services/{service} /services/{service}/edit /services/{service}/history /activity
/policy /policy?line=thing7 /policy/explain
/policy/explain?userName={name}&method=GET&path=/api/user/list
/policy/who?method=GET&path=/api/user/list /policy/who?by=users&method=GET&path=/api/user/info
/policy/who?permission=area1:page3:do2 /policy/what?roleCode=team-7 /policy/what?userName=admin
/policy/matrix /policy/matrix?size=100 /policy/matrix?object=thing7 /policy/openings
/policy/revisions /policy/revisions?size=100 /policy/revisions/{newest} /policy/compare?from=1&to={newest}
/policy/compare?from=1&to={newest}&access=true
"""
"""The addresses that are visited."""


@dataclass(frozen=True)
class Act:
    """Something that the reader does in a view."""

    name: str
    address: str
    work: Callable[[Page], Any]


def typed(label: str, text: str) -> Callable[[Page], Any]:
    """Return what types ``text`` into the field in the view that is called ``label``."""
    return lambda page: (
        page.get_by_role("main").get_by_label(label, exact=True).first.press_sequentially(text)
    )


def pressed(name: str) -> Callable[[Page], Any]:
    """Return what presses the button called ``name``."""
    return lambda page: page.get_by_role("main").get_by_role("button", name=name).first.click()


ACTS: Final = (
    Act("users are searched", "/users", typed("Name, email or phone", "abc")),
    Act("the next users", "/users", pressed("Next")),
    Act("users are sorted", "/users", pressed("Sort by Name")),
    Act("the tree of a role is searched", "/roles/{role}", typed("Search by title or permission", "do")),
    Act(
        "a Menu with all below it is chosen",
        "/roles/{role}",
        lambda page: page.get_by_role("main").locator("[role=treeitem] .tick").nth(-9).click(),
    ),
    Act("menus are searched", "/menus", typed("Search by title or permission", "do")),
    Act("a resource is looked for to bind it", "/menus/{button}", pressed("Bind")),
    Act("roles of the matrix are chosen", "/policy/matrix", pressed("Choose roles")),
)


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield the seconds of each view, and the largest of all answers, tasks and pages.

    Each view is visited once: all of them take minutes.
    """
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ExitStack() as stack:
        stores = stack.enter_context(EmbeddedStores(Path(folder) / "data", durable=False))
        pin_to_last_core()
        sides = []
        for number, size in enumerate((SMALL, MEDIUM if pace.is_quick else LARGE)):
            url = stack.enter_context(database(stores, name=f"console_{number}"))
            environ = environment(stores, Path(folder)) | {
                "DATABASE_URL": url,
                "REDIS_URL": f"{stores.redis_url}?db={number}",
            }
            install(environ, size)
            sides.append((stack.enter_context(serving_worker(environ)).port, known(url)))
        browser = chromium_path()
        if browser is None:
            raise FileNotFoundError("there is no Chromium on this machine")
        with sync_playwright() as playwright:
            launched = playwright.chromium.launch(executable_path=browser, args=["--disable-gpu"])
            visitors = [Visitor(launched, f"http://127.0.0.1:{port}") for port, _ in sides]
            places = [ids for _, ids in sides]
            yield from results_of(visited(visitors, places))
            launched.close()


def known(url: str) -> dict[str, Any]:
    """Return what stands in addresses of the installation at ``url``."""
    ids = {}
    with psycopg.connect(url) as connection:
        for name, statement in IDS.items():
            ((ids[name],),) = connection.execute(statement.encode()).fetchall()
    return ids


def visited(visitors: list[Visitor], places: list[dict[str, Any]]) -> Iterator[tuple[str, list[Cost]]]:
    """Visit everything once; yield the name of each view, and what it costs in each installation."""
    for address in ADDRESSES.split():
        yield (
            address,
            [visitor.go(address.format(**ids)) for visitor, ids in zip(visitors, places, strict=True)],
        )
    for act in ACTS:
        costs = []
        for visitor, ids in zip(visitors, places, strict=True):
            visitor.go("/account")
            visitor.go(act.address.format(**ids))
            costs.append(visitor.cost(act.work))
            visitor.leave()
        yield act.name, costs


LIMITS: Final[tuple[tuple[str, str, float, Callable[[Cost], float]], ...]] = (
    ("the largest answer", "kB", KILOBYTES, lambda cost: cost.largest / 1000),
    ("the longest task of the main thread", "ms", TASK, lambda cost: cost.task),
    ("the largest layout shift", "of the window", 0.0, lambda cost: cost.shift),
    ("the most nodes", "nodes", NODES, lambda cost: float(cost.nodes)),
    ("the most alerts", "alerts", 0.0, lambda cost: float(cost.faults)),
)


def results_of(views: Iterable[tuple[str, list[Cost]]]) -> Iterator[Result | Note]:
    """Yield the results of each view as soon as it has been visited, and at the end the largest of all.

    A note names each view that is beyond a limit.
    """
    every = []
    for name, (few, many) in views:
        every.append((few, many))
        reference = result(f"{name}, few", "s", [few.seconds])
        yield result(name, "s", [many.seconds], against=reference, goals=[at_most(SECONDS)])
        for what, unit, limit, of in LIMITS:
            if of(many) > limit:
                yield Note(f"{name}: {what} is {of(many):,.0f} {unit}")
    for what, unit, limit, of in LIMITS:
        yield result(f"{what}, few", unit, [max(of(few) for few, _ in every)])
        yield result(what, unit, [max(of(many) for _, many in every)], goals=[at_most(limit)])
