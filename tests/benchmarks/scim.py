"""What it costs to provision a directory by SCIM, and to provision it again when nothing has changed.

Each run does what identity providers do: it looks for each user and each group by its name, creates it, or
replaces it by what it has sent before. One client sends one request at a time to a server with one worker.
Then the largest group is changed and read.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.frame.results import Note, Pace, Result, at_most, result
from tests.benchmarks.installation import environment, install, log_in
from tests.benchmarks.servers import Server, pin_to_last_core, serving_worker

CORE: Final = "urn:ietf:params:scim:schemas:core:2.0:"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
CODES: Final = ("system:scim:read", "system:scim:users", "system:scim:groups")
ROLES: Final = 20
"""So many roles are given by groups, each by every so many-th group."""
RATIO: Final = at_most(1 / 3, of="ratio")
CHANGED: Final = 1000
"""Members of one patch."""


@dataclass(frozen=True)
class Shape:
    """How many users and groups; the first group has ``largest`` members, all others ``members``."""

    users: int
    groups: int
    largest: int
    members: int


FULL: Final = Shape(users=50_000, groups=500, largest=20_000, members=400)
SMALL: Final = Shape(users=300, groups=6, largest=200, members=40)


@dataclass(frozen=True)
class Feed:
    """A client that provisions ``shape``."""

    client: httpx.Client
    shape: Shape

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, f"/scim/v2{path}", json=body).raise_for_status()
        return answer.json() if answer.content else None

    def run(self) -> list[str]:
        """Provision everything, and return the ids of the users."""
        ids = [self.put("Users", "userName", user(number)) for number in range(self.shape.users)]
        for number in range(self.shape.groups):
            self.put("Groups", "displayName", self.group(number, ids))
        return ids

    def put(self, kind: str, name: str, body: Mapping[str, Any]) -> str:
        """Create a resource, or replace the one of that name; returns its id."""
        query = f'filter={name} eq "{body[name]}"&attributes=id'
        listed = self.ask("GET", f"/{kind}?{query}")["Resources"]
        method, path = ("PUT", f"/{kind}/{listed[0]['id']}") if listed else ("POST", f"/{kind}")
        answer: str = self.ask(method, f"{path}?excludedAttributes=members", body)["id"]
        return answer

    def group(self, number: int, ids: list[str]) -> dict[str, Any]:
        size = self.shape.members if number else self.shape.largest
        chosen = (ids[(number * size + place) % len(ids)] for place in range(size))
        listed = [{"value": user_id} for user_id in chosen]
        return {"schemas": [f"{CORE}Group"], "displayName": f"group-{number}", "members": listed}


def user(number: int) -> dict[str, Any]:
    name = f"user-{number}@example.org"
    return {
        "schemas": [f"{CORE}User"],
        "userName": name,
        "externalId": f"id-{number}",
        "displayName": f"User {number}",
        "emails": [{"value": name, "type": "work", "primary": True}],
        "active": True,
    }


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield the seconds of both runs, and of changes of the largest group."""
    shape = SMALL if pace.is_quick else FULL
    with tempfile.TemporaryDirectory(prefix="pc-") as name, ExitStack() as stack:
        stores = stack.enter_context(EmbeddedStores(Path(name) / "data", durable=False))
        pin_to_last_core()
        # A group of 20,000 members takes seconds, and more where others use the machine.
        environ = environment(stores, Path(name)) | {"PORTCULLIS_DATABASE__TIMEOUT": "30"}
        install(environ)
        server = stack.enter_context(serving_worker(environ))
        feed = Feed(stack.enter_context(_client(server, api_key(server, shape))), shape)
        yield from _runs(feed, server)
        yield from _changes(feed)
    yield Note(
        f"{shape.users:,} users and {shape.groups} groups, the largest with {shape.largest:,} members; one "
        "round: the first run is one only once."
    )


def _runs(feed: Feed, server: Server) -> Iterator[Result]:
    reference: dict[str, Result] = {}
    for run in ("first", "second"):
        started, cpu = time.perf_counter(), server.cpu_seconds()
        feed.run()
        figures = {
            "s": time.perf_counter() - started,
            "s of processor time": server.cpu_seconds() - cpu,
        }
        for unit, figure in figures.items():
            against = reference.get(unit)
            goals = [] if against is None else [RATIO]
            made = result(f"the {run} run", unit, [figure], against=against, goals=goals)
            reference.setdefault(unit, made)
            yield made


def _changes(feed: Feed) -> Iterator[Result]:
    group = feed.put("Groups", "displayName", feed.group(0, ids := _ids(feed)))
    listed = [{"value": user_id} for user_id in ids[-min(CHANGED, len(ids) // 10) :]]
    members = f"/Groups/{group}?excludedAttributes=members"
    everybody = feed.group(0, ids)
    requests: dict[str, tuple[str, str, Any]] = {
        "add members by a patch": ("PATCH", members, _patch("add", listed)),
        "remove members by a patch": ("PATCH", members, _patch("remove", listed)),
        "replace the group by one without members": ("PUT", members, everybody | {"members": []}),
        "replace it by one with all of them": ("PUT", members, everybody),
        "read it with its members": ("GET", f"/Groups/{group}", None),
        "read it without its members": ("GET", members, None),
    }
    for name, (method, path, body) in requests.items():
        started = time.perf_counter()
        feed.ask(method, path, body)
        yield result(name, "ms", [1000 * (time.perf_counter() - started)])


def _patch(op: str, listed: list[dict[str, str]]) -> dict[str, Any]:
    return {"schemas": [PATCH], "Operations": [{"op": op, "path": "members", "value": listed}]}


def _ids(feed: Feed) -> list[str]:
    ids: list[str] = []
    while len(ids) < feed.shape.users:
        page = feed.ask("GET", f"/Users?attributes=id&startIndex={len(ids) + 1}&count=200")
        ids += [each["id"] for each in page["Resources"]]
    return ids


def _client(server: Server, token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(
        base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=300, trust_env=False
    )


def api_key(server: Server, shape: Shape) -> str:
    """Make the client, its directory and the roles that this gives; returns the API key."""
    with _client(server, log_in(server)) as client:

        def ask(method: str, path: str, body: Any) -> Any:
            return client.request(method, f"/api/{path}", json=body).raise_for_status().json()["data"]

        codes = [f"role-{number}" for number in range(ROLES)]
        for code in (*codes, "feed"):
            made = ask("POST", "role", {"roleName": code, "roleCode": code})
            given = CODES if code == "feed" else ("system:file:list",)
            ask("PUT", f"role/{made['id']}/permissions", {"permissions": given})
        body = {"userName": "feed", "nickName": "Feed", "kind": "service", "roleIds": [made["id"]]}
        account = ask("POST", "user", body)
        key: str = ask("POST", f"user/{account['id']}/keys", {"name": "feed"})["key"]
        mapping = [
            {"group": f"group-{number}", "roles": [codes[number % ROLES]]} for number in range(shape.groups)
        ]
        directory = {"kind": "scim", "client": "feed", "ceiling": ["system:file:list"], "mapping": mapping}
        ask("PUT", "directory/feed", directory)
    return key
