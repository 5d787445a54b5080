"""One service and one browser for all tests of this folder, started by the first and ended after the last."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import httpx
import psycopg
from playwright.sync_api import Browser, sync_playwright

from service.features.embedded.stores import EmbeddedStores
from tests.support.chromium import chromium
from tests.support.databases import database, session_store
from tests.support.members import ROLE, USER
from tests.support.running import Running, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.console.visits import Visit

PATIENCE: Final = 15_000
"""Milliseconds that a test waits for what should appear: others keep the cores busy."""

_GIVE: Final = "INSERT INTO sys.role_menu SELECT %s, id FROM sys.menu WHERE auth_mark = %s"


class Administrator(httpx.Auth):
    """Logs the administrator in, and again when the access token has expired: a house outlives it."""

    def __init__(self, log_in: Callable[[str], dict[str, Any]]) -> None:
        self._log_in = log_in
        self._token = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
            answer = yield request
            if answer.status_code != HTTPStatus.UNAUTHORIZED:
                return
        self._token = self._log_in(ADMINISTRATOR)["accessToken"]
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class House:
    """The running service, and the browser; ``api`` is a client of the administrator."""

    _held: ClassVar[House | None] = None

    def __init__(self, stores: EmbeddedStores, template: str, *options: str, **settings: str) -> None:
        """Start the service on a copy of the database ``template``; the browser starts when it is needed.

        ``options`` and ``settings`` are further ones of the service.
        """
        with ExitStack() as starting:
            self._folder = Path(starting.enter_context(tempfile.TemporaryDirectory(prefix="pc-")))
            self._database = starting.enter_context(database(stores, template))
            sessions = starting.enter_context(session_store(stores))
            self.service: Running = starting.enter_context(
                running(
                    self._folder,
                    *("--workers", "1", *options),
                    DATABASE_URL=self._database,
                    REDIS_URL=sessions,
                    JWT_SECRET=secrets.token_urlsafe(48),
                    **{
                        "PORTCULLIS_AUTH__FACTOR_KEY": secrets.token_urlsafe(48),
                        "PORTCULLIS_THROTTLE__ENABLED": "false",
                        "PORTCULLIS_AUTH__MAX_DEVICES": "100",
                    }
                    | settings,
                )
            )
            self._open = starting.pop_all()
        self.idle: list[Visit] = []
        """The browsers that no test uses now: a new one, with its process, costs as much as a short test."""
        self.readable: set[str] = set()
        """The looks of elements whose contrast is good: see `Visit.axe`."""

    @classmethod
    def of(cls, stores: EmbeddedStores, template: str) -> House:
        """Return the house of this process."""
        if cls._held is None:
            cls._held = cls(stores, template)
        return cls._held

    @classmethod
    def close(cls) -> None:
        """End the browser and the service, if they run."""
        held, cls._held = cls._held, None
        if held is not None:
            held.end()

    def end(self) -> None:
        """End the service, and the browser if this house has started it."""
        self._open.close()

    @property
    def url(self) -> str:
        """Where the service listens."""
        return self.service.url

    @cached_property
    def browser(self) -> Browser:
        """The browser. While it runs, nothing else in this thread may run an event loop."""
        program = chromium()
        playwright = self._open.enter_context(sync_playwright())
        options = [
            *("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
            "--renderer-process-limit=1",  # no spare process for pages that may never come
        ]
        launched = playwright.chromium.launch(executable_path=program, args=options)
        self._open.callback(launched.close)
        return launched

    @cached_property
    def api(self) -> httpx.Client:
        """A client with the access token of the administrator."""
        client = self._open.enter_context(self.service.client())
        client.auth = Administrator(self.log_in)
        return client

    def log_in(self, name: str) -> dict[str, Any]:
        """Return the tokens of a new session, of a user with the administrator's password."""
        device = f"console-{secrets.token_hex(6)}"
        sent = {"userName": name, "password": ADMINISTRATOR_PASSWORD, "device": device}
        answer = self._anybody.post("/api/auth/login", json=sent)
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()["data"]
        return tokens

    @cached_property
    def _anybody(self) -> httpx.Client:
        return self._open.enter_context(self.service.client())

    def wait_for_log(self, log: str, count: int = 1, **filters: str) -> None:
        """Wait until ``log``, `operation` or `login`, has ``count`` entries, which follow the answers."""

        def written() -> bool:
            response = self.api.get(f"/api/{log}-log/list", params=filters)
            assert response.status_code == 200, response.text
            return len(response.json()["data"]["items"]) >= count

        assert eventually(written)

    def execute(self, statement: str, *values: object) -> None:
        """Change the database, where the API can't: to make what time or another person would."""
        with psycopg.connect(self._database) as connection:
            connection.execute(statement, values)

    def member(self, name: str, *codes: str) -> int:
        """Make a user, with the administrator's password, in a role of the same name that gives ``codes``."""
        with psycopg.connect(self._database) as connection:
            role_id, user_id = (
                connection.execute(statement, (name, name, name)).fetchone() for statement in (ROLE, USER)
            )
            assert role_id is not None
            assert user_id is not None
            connection.execute("INSERT INTO sys.user_role VALUES (%s, %s)", (user_id[0], role_id[0]))
            for code in codes:
                made = connection.execute(_GIVE, (role_id[0], code)).rowcount
                assert made == 1, f"no Button has the code {code}"
        number: int = user_id[0]
        return number
