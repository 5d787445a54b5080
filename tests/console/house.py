"""One browser for all tests of pages in a process, and the services that they share."""

from __future__ import annotations

import base64
import secrets
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cache, cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import httpx
import psycopg
from playwright.sync_api import Browser, sync_playwright

from service.features.embedded.stores import EmbeddedStores
from service.features.second_factors import totp
from tests.support.chromium import chromium
from tests.support.databases import database, session_store
from tests.support.members import ROLE, USER
from tests.support.ports import free_port
from tests.support.running import Running, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.console.mailbox import Mailbox
    from tests.console.visits import Visit

PATIENCE: Final = 15_000
"""Milliseconds that a test waits for what should appear: others keep the cores busy."""

FRONT_END_PORT: Final = free_port()
FRONT_END: Final = f"http://127.0.0.1:{FRONT_END_PORT}"
"""The origin of pages elsewhere that may call the service, if a test serves any."""
_FREE: Final = "UPDATE sys.user_factor SET last_step = NULL"
_GIVE: Final = "INSERT INTO sys.role_menu SELECT %s, id FROM sys.menu WHERE auth_mark = %s"


_OPEN: Final = ExitStack()
"""The browser, while it runs."""


@cache
def browser() -> Browser:
    """Return the browser. While it runs, nothing else in this thread may run an event loop."""
    program = chromium()
    playwright = _OPEN.enter_context(sync_playwright())
    options = [
        *("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
        "--renderer-process-limit=1",  # no spare process for pages that may never come
    ]
    launched = playwright.chromium.launch(executable_path=program, args=options)
    _OPEN.callback(launched.close)
    return launched


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

    _held: ClassVar[dict[str, House]] = {}

    def __init__(self, stores: EmbeddedStores, template: str, *options: str, **settings: str) -> None:
        """Start the service with ``options`` and ``settings`` on a copy of the database ``template``."""
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
        self.address: str = self.url
        """The address by which pages are visited."""
        self.mailbox: Mailbox | None = None
        """Where the mails of the house arrive, if it sends any."""
        self.idle: list[Visit] = []
        """The browsers that no test uses now: a new one, with its process, costs as much as a short test."""
        self.readable: set[str] = set()
        """The looks of elements whose contrast and size are good: see `Visit.barriers`."""
        self.is_frame_judged = False

    @classmethod
    def of(
        cls,
        stores: EmbeddedStores,
        template: str,
        kind: str = "usual",
        start: Callable[[], House] | None = None,
    ) -> House:
        """Return the house of this process, or another ``kind`` of house, which ``start`` makes."""
        if kind not in cls._held:
            cors = {"PORTCULLIS_SERVER__CORS_ORIGINS": FRONT_END}
            cls._held[kind] = start() if start else cls(stores, template, **cors)
        return cls._held[kind]

    @classmethod
    def at_localhost(cls, stores: EmbeddedStores, template: str, **settings: str) -> House:
        """Start a house whose public address is ``http://localhost``: such pages may ask for passkeys."""
        port = str(free_port())
        address = f"http://localhost:{port}"
        house = cls(stores, template, "--port", port, PORTCULLIS_SERVER__PUBLIC_URL=address, **settings)
        house.address = address
        return house

    @classmethod
    def close(cls) -> None:
        """End the services that `of` has started, and the browser."""
        while cls._held:
            cls._held.popitem()[1].end()
        _OPEN.close()
        browser.cache_clear()

    def end(self) -> None:
        """End the service."""
        self._open.close()

    def beside(self, ending: Callable[[], object]) -> None:
        """Call ``ending`` when the service has ended: for what only this house needs."""
        self._open.callback(ending)

    @property
    def url(self) -> str:
        """Where the service listens."""
        return self.service.url

    @property
    def browser(self) -> Browser:
        """The browser of this process."""
        return browser()

    @cached_property
    def api(self) -> httpx.Client:
        """A client with the access token of the administrator."""
        client = self._open.enter_context(self.service.client())
        client.auth = Administrator(self.log_in)
        return client

    def try_to_log_in(self, name: str, device: str | None = None) -> httpx.Response:
        """Return the answer to a login of a user with the administrator's password."""
        device = device or f"console-{secrets.token_hex(6)}"
        sent = {"userName": name, "password": ADMINISTRATOR_PASSWORD, "device": device}
        return self._anybody.post("/api/auth/login", json=sent)

    def log_in(self, name: str, device: str | None = None) -> dict[str, Any]:
        """Return the tokens of a new session of a user with the administrator's password."""
        answer = self.try_to_log_in(name, device)
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()["data"]
        return tokens

    @cached_property
    def _anybody(self) -> httpx.Client:
        return self._open.enter_context(self.service.client())

    def ask(self, name: str, method: str, path: str, body: Any = None) -> httpx.Response:
        """Send a request in a new session of a user with the administrator's password."""
        headers = {"Authorization": f"Bearer {self.log_in(name)['accessToken']}"}
        self._anybody.cookies.clear()  # in cookie mode they would come first
        return self._anybody.request(method, path, json=body, headers=headers)

    def send(self, method: str, path: str, body: Any = None, /, **query: Any) -> Any:
        """Send a request of the administrator, which must succeed; return the data of the answer."""
        answer = self.api.request(method, path, json=body, params=query or None)
        assert answer.is_success, answer.text
        return answer.json().get("data") if answer.content else None

    def items(self, kind: str, /, **query: Any) -> list[dict[str, Any]]:
        """Return the records of a list, such as those of ``user``."""
        items: list[dict[str, Any]] = self.send("GET", f"/api/{kind}/list", **query)["items"]
        return items

    def make(self, kind: str, /, **body: Any) -> int:
        """Make a record, such as a ``role``, and return its id."""
        number: int = self.send("POST", f"/api/{kind}", body)["id"]
        return number

    def resource(self, request: str, name: str, /, **body: Any) -> int:
        """Register a request, such as ``GET /api/x``, and return the id of the resource."""
        method, path = request.split(" ")
        code = name.lower().replace(" ", "-")
        return self.make("resource", resourceName=name, resourceCode=code, method=method, path=path, **body)

    def role(self, code: str) -> dict[str, Any]:
        """Return a role, with its permissions."""
        (role,) = (role for role in self.items("role", roleCode=code) if role["roleCode"] == code)
        given: dict[str, Any] = self.send("GET", f"/api/role/{role['id']}/permissions")
        return role | given

    def user(self, name: str) -> dict[str, Any]:
        """Return a user."""
        (user,) = self.items("user", userName=name)
        return user

    def code_of(self, secret: str) -> str:
        """Return what an app shows now, which may be used again: nobody waits half a minute for the next."""
        self.execute(_FREE)
        return totp.code_at(base64.b32decode(secret), int(time.time()) // totp.PERIOD)

    def enrol(self, name: str) -> tuple[str, list[str]]:
        """Enrol an app for a user; return its secret, and the recovery codes."""
        app = self.ask(name, "POST", "/api/user/profile/factors/totp", {}).json()["data"]
        path, body = (
            f"/api/user/profile/factors/totp/{app['id']}/confirm",
            {"code": self.code_of(app["secret"])},
        )
        confirmed = self.ask(name, "POST", path, body)
        assert confirmed.is_success, confirmed.text
        return app["secret"], confirmed.json()["data"]["recoveryCodes"]

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
