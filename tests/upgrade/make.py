"""Make what is kept of earlier versions: ``python -m tests.upgrade.make [NAME …]``.

Runs each version for two days of its clock, in the way of its users: roles, menus, resources, users, bans,
sessions, files, a new signing key, and API keys and other services where it has them. Then it packs the data
directory, a dump of the database, and what the tests must find again.
"""

import lzma
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import psycopg

from service.features.embedded.privilege import command_prefix
from service.features.embedded.program import postgres_program
from service.features.embedded.stores import EmbeddedStores
from tests.support.set_clock import SetClock, open_folder
from tests.upgrade.earlier import (
    COMMITS,
    KEPT,
    PASSWORD,
    RELEASE,
    Facts,
    Node,
    Program,
    Session,
    variables,
)

DAY: Final = 86_400
CONTENT: Final = b"kept over an upgrade\n"
COUNTS: Final = {
    "users": 'SELECT count(*) FROM sys."user"',
    "lines": "SELECT count(*) FROM sys.casbin_rule",
    "operations": "SELECT count(*) FROM sys.operation_log",
    "logins": "SELECT count(*) FROM sys.login_log",
}
_MADE_AGAIN: Final = ("logs", "sockets", "owner")
"""What each start makes, whatever there is."""


class Caller:
    """Somebody who calls the service, after a login."""

    def __init__(self, client: httpx.Client, name: str, device: str = "web") -> None:
        self._client = client
        self.session = _session(
            client.post("/api/auth/login", json={"userName": name, "password": PASSWORD, "device": device})
        )

    def data(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Return the data of a request that succeeds; AssertionError for another answer."""
        headers = {"Authorization": f"Bearer {self.session.access}"}
        sent = options if body is None else options | {"json": body}
        answer = self._client.request(method, path, headers=headers, **sent)
        assert answer.is_success, (method, path, answer.status_code, answer.text)
        return answer.json()["data"]

    def refresh(self) -> Session:
        """Spend the refresh token; return the session as it was before."""
        before = self.session
        answer = self._client.post("/api/auth/refresh", json={"refreshToken": before.refresh})
        self.session = _session(answer)
        return before


def _session(answer: httpx.Response) -> Session:
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    return Session(data["accessToken"], data["refreshToken"])


def first_day(client: httpx.Client) -> tuple[dict[str, int], dict[str, Session]]:
    """Make everything but what needs a newer version; return the ids of records, and sessions."""
    admin = Caller(client, "admin")
    menu = admin.data("POST", "/api/menu", {"menuType": "Menu", "title": "Gate"})
    ids = {"menu": menu["id"]}
    for name, code in (("open", "gate:open"), ("shut", "gate:shut")):
        button = {"menuType": "Button", "title": name, "authMark": code, "parentId": ids["menu"]}
        ids[name] = admin.data("POST", "/api/menu", button)["id"]
    menus = admin.data("GET", "/api/menu/list", params={"size": 200})["items"]
    files = [row["id"] for row in menus if (row["authMark"] or "").startswith("system:file:")]
    ids["guard"] = admin.data("POST", "/api/role", {"roleName": "Guard", "roleCode": "guard"})["id"]
    held = {"menuIds": [ids["menu"], ids["open"], *files]}
    admin.data("PUT", f"/api/role/{ids['guard']}/permissions", held)
    for code, path in (("gate", "/api/gate"), ("files", "/api/file/list")):
        resource = {"resourceName": code, "resourceCode": code, "method": "GET", "path": path}
        ids[f"resource {code}"] = admin.data("POST", "/api/resource", resource)["id"]
        bound = {"menuIds": [ids["open"]]}
        admin.data("PUT", f"/api/resource/{ids[f'resource {code}']}/buttons", bound)
    for name, roles in (("ada", ["guard"]), ("bob", []), ("mallory", ["guard"]), ("dora", ["guard"])):
        user: dict[str, Any] = {"userName": name, "nickName": name.title(), "password": PASSWORD}
        user["roleIds"] = [ids[role] for role in roles]
        ids[name] = admin.data("POST", "/api/user", user)["id"]
    ada, bob = Caller(client, "ada"), Caller(client, "bob", "ios")
    spent = ada.refresh()
    left = bob.session
    bob.data("POST", "/api/auth/logout")
    for name in ("mallory", "dora"):
        Caller(client, name)
    admin.data("POST", f"/api/online/{ids['mallory']}/ban", {"reason": "of the upgrade tests"})
    admin.data("PUT", f"/api/user/{ids['dora']}/status", {"status": "disabled"})
    return ids, {"first day": ada.session, "spent": spent, "left": left}


def second_day(client: httpx.Client, ids: dict[str, int]) -> Facts:
    """Go on with another signing key; return what the tests look for, and add the ids of records."""
    admin, ada = Caller(client, "admin"), Caller(client, "ada", "android")
    ids["file"] = ada.data("POST", "/api/file", files={"file": ("gate.txt", CONTENT, "text/plain")})["id"]
    link = ada.data("POST", f"/api/file/{ids['file']}/public-link", {})
    both = {"menuIds": [ids["open"], ids["shut"]]}
    admin.data("PUT", f"/api/resource/{ids['resource gate']}/buttons", both)
    key = None
    if "/api/user/{id}/keys" in client.get("/docs/openapi.json").json()["paths"]:
        robot = {"userName": "robot", "nickName": "Robot", "kind": "service", "roleIds": [ids["guard"]]}
        ids["robot"] = admin.data("POST", "/api/user", robot)["id"]
        key = admin.data("POST", f"/api/user/{ids['robot']}/keys", {"name": "nightly"})["key"]
        ids["service"] = admin.data("POST", "/api/service", {"name": "orders"})["id"]
        opening = {"service": "orders", "code": "@login"}
        ids["opening"] = admin.data("POST", "/api/opening", opening)["id"]
    revisions = admin.data("GET", "/api/policy/revisions", params={"size": 200})["items"]
    return Facts(
        ids=ids,
        sessions={"second day": ada.session, "administrator": admin.session},
        revisions={row["revision"]: row["cause"] for row in revisions},
        link=link["token"],
        api_key=key,
    )


def run(program: Program, folder: Path, clock: SetClock) -> Facts:
    """Run a version for two days on the data directory below ``folder``; return what it holds then."""
    values = variables(folder, clock, program.root)
    data = folder / "data"
    clock.set(-DAY)
    with _running(program, folder, values) as client:
        ids, sessions = first_day(client)
    program.run(folder, "keys", "rotate", "--data", str(data), **values)
    clock.set(0)
    with _running(program, folder, values) as client:
        facts = second_day(client, ids)
    facts.sessions |= sessions
    facts.made_at = int(time.time())
    return facts


@contextmanager
def _running(program: Program, folder: Path, values: dict[str, str]) -> Iterator[httpx.Client]:
    node = Node(program, folder, "--data", str(folder / "data"), **values)
    try:
        node.wait()
        with node.client() as client:
            yield client
    finally:
        assert node.stop() == 0, node.errors


def describe(data: Path, dump: Path, facts: Facts) -> None:
    """Write the dump of the stopped installation, and add to ``facts`` what only the database tells."""
    with EmbeddedStores(data) as stores:
        words = [str(postgres_program("pg_dump")), "--no-owner", f"--file={dump}", stores.database_url]
        subprocess.run(words, check=True)
        with psycopg.connect(stores.database_url) as connection:
            for name, query in COUNTS.items():
                (facts.counts[name],) = connection.execute(query).fetchone() or (None,)
            (facts.schema,) = connection.execute(
                "SELECT version_num FROM sys.alembic_version"
            ).fetchone() or ("",)


def pack(name: str, folder: Path) -> Path:
    """Pack what stands below ``folder``; return the archive."""
    data, place = folder / "data", KEPT / f"{name}.tar.xz"
    if name == RELEASE:
        # A server that was stopped needs nothing of its write-ahead log, which is larger than all else.
        words = [str(postgres_program("pg_resetwal")), "-D", str(data / "postgres")]
        subprocess.run([*command_prefix(), *words], check=True, stdout=subprocess.DEVNULL)
    else:
        shutil.rmtree(data / "postgres")
    for left in _MADE_AGAIN:
        path = data / left
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 27}]
    with lzma.open(place, "wb", filters=filters) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for member in ("data", "database.sql", "facts.json"):
            archive.add(folder / member, member, filter=_of_nobody)
    return place


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main(names: list[str]) -> None:
    """Make what is kept of the versions that are named, or of all."""
    for name in names or COMMITS:
        with open_folder() as folder:
            clock = SetClock(folder)
            facts = run(Program(name, folder), folder, clock)
            describe(folder / "data", folder / "database.sql", facts)
            (folder / "facts.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts)))
            place = pack(name, folder)
            print(f"{place.relative_to(KEPT)}: {place.stat().st_size} bytes, schema {facts.schema}")  # noqa: T201 - for who runs it


if __name__ == "__main__":
    main(sys.argv[1:])
