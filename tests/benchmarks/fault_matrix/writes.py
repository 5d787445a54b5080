"""The operations that write records and files, and what of them must be there afterwards."""

import os

import psycopg

from tests.benchmarks.fault_matrix.calls import Caller, Intruders, Reply
from tests.benchmarks.fault_matrix.operations import Administered, missing

PNG = b"\x89PNG\r\n\x1a\n"


class RoleWrite(Administered):
    """A new role."""

    name, device, is_write = "role write", "roles", True

    def __init__(self, url: str, intruders: Intruders, database_url: str) -> None:
        self._database_url = database_url
        self._acknowledged: list[str] = []
        super().__init__(url, intruders)

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:
        """Create a role of a name that no other has."""
        code = f"fault-{os.urandom(6).hex()}"
        reply = caller.ask("POST", "/api/role", {"roleName": code, "roleCode": code}, token=token)
        if reply.is_success and not wrong:
            self._acknowledged.append(code)
        return reply

    def lost(self) -> int:
        """Count the roles that are not in the database, and delete the others."""
        with psycopg.connect(self._database_url) as connection:
            rows = connection.execute("SELECT role_code FROM sys.role").fetchall()
            connection.execute("DELETE FROM sys.role WHERE role_code LIKE 'fault-%'")
        gone = missing(self._acknowledged, (code for (code,) in rows))
        self._acknowledged.clear()
        return gone


class Bind(Administered):
    """The Buttons of a resource, replaced; each time the policy is published anew."""

    name, device, is_write = "bind", "binder", True

    def __init__(self, url: str, intruders: Intruders, database_url: str) -> None:
        self._database_url = database_url
        with psycopg.connect(database_url) as connection:
            rows = connection.execute(
                "SELECT id FROM sys.menu WHERE auth_mark LIKE 'system:role:%' ORDER BY id LIMIT 3"
            ).fetchall()
        self._buttons = [number for (number,) in rows]
        self._possible: list[int] = []  # what may be stored: the last acknowledged, and all unknown after it
        super().__init__(url, intruders)
        made = self._caller.ask(
            "POST",
            "/api/resource",
            {"resourceName": "Fault", "resourceCode": "fault.bound", "method": "GET", "path": "/fault/bound"},
            token=self._token,
        )
        assert made.is_success, made.body
        self._resource_id = made.json["data"]["id"]

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:
        """Bind the resource to the next Button."""
        button = self._buttons[next(self._turns) % len(self._buttons)]
        target = f"/api/resource/{self._resource_id}/buttons"
        reply = caller.ask("PUT", target, {"menuIds": [button]}, token=token)
        if reply.is_success and not wrong:
            self._possible = [button]
        elif not wrong and reply.status not in (401, 403):
            self._possible.append(button)
        return reply

    def lost(self) -> int:
        """Tell whether something else is stored than what was bound last."""
        with psycopg.connect(self._database_url) as connection:
            rows = connection.execute(
                "SELECT menu_id FROM sys.action_resource WHERE resource_id = %s", (self._resource_id,)
            ).fetchall()
        possible, self._possible = self._possible, []
        return int(bool(possible) and [number for (number,) in rows] not in [[button] for button in possible])


class Upload(Administered):
    """A new file."""

    name, device, is_write = "upload", "uploader", True

    def __init__(self, url: str, intruders: Intruders) -> None:
        self._acknowledged: dict[int, bytes] = {}
        super().__init__(url, intruders)

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:
        """Upload some bytes that no other file has."""
        content = PNG + os.urandom(4096)
        reply = caller.ask("POST", "/api/file", token=token, file=content)
        if reply.is_success and not wrong:
            self._acknowledged[reply.json["data"]["id"]] = content
        return reply

    def lost(self) -> int:
        """Count the files that can't be read, or hold other bytes."""
        acknowledged, self._acknowledged = self._acknowledged, {}
        return sum(
            self._caller.ask("GET", f"/api/file/{number}", token=self._token).body != content
            for number, content in acknowledged.items()
        )


class Download(Administered):
    """The content of a file that was uploaded before anything failed."""

    name, device = "download", "downloader"

    def __init__(self, url: str, intruders: Intruders) -> None:
        super().__init__(url, intruders)
        self._content = PNG + os.urandom(200_000)
        made = self._caller.ask("POST", "/api/file", token=self._token, file=self._content)
        assert made.is_success, made.body
        self._file_id = made.json["data"]["id"]
        self._damaged = 0

    def act(self, caller: Caller, token: str, *, wrong: bool = False) -> Reply:
        """Read the file."""
        reply = caller.ask("GET", f"/api/file/{self._file_id}", token=token)
        if reply.is_success and not wrong and reply.body != self._content:
            self._damaged += 1
        return reply

    def lost(self) -> int:
        """Count the successes that held other bytes than the file."""
        damaged, self._damaged = self._damaged, 0
        return damaged
