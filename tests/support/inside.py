"""The whole service inside the test's own process: one worker, its lifespan included, on real stores."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import psycopg
from sqlalchemy import text

from service import settings
from service.app import create_app
from service.audit.seals import RevisionSeals, seals_of
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import Shipped, configured
from service.records.database.transactions import Database
from service.web.requests.application import Message
from service.web.requests.middleware import RequestMiddleware
from tests.support.cheap_hashes import COSTS, cheap_hasher
from tests.support.running import PATIENT
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, administrator_hash
from tests.support.without import OFF, need
from tests.web.driver import JSON, Answer, ask

USUAL: Final = {"PORTCULLIS_PASSWORD__INITIAL": "false"}
"""Most tests log in with the password that the seed or an administrator has set."""
CHEAPER: Final = text("UPDATE sys.user SET password_hash = :new WHERE password_hash = :old")

Connection = psycopg.Connection[tuple[Any, ...]]
AsyncConnection = psycopg.AsyncConnection[tuple[Any, ...]]


def denial_log(log: Path) -> dict[str, str]:
    """Return the variables of a service that writes each denial to ``log``; skips where nothing writes it."""
    need("export")
    return {"PORTCULLIS_POLICY__DECISION_LOG": str(log)}


def all_decisions(log: Path) -> dict[str, str]:
    """Return the variables of a service that writes every decision to ``log``, the allowed ones too."""
    return denial_log(log) | {"PORTCULLIS_POLICY__DECISION_LOG_ALLOWS": "1"}


class Inside:
    """A service that runs; requests are sent with ``token`` unless another is given."""

    def __init__(self, app: RequestMiddleware, database_url: str, redis_url: str) -> None:
        self._app = app
        self.database_url = database_url
        self.redis_url = redis_url
        self.token: str | None = None
        self._beside: Connection | None = None
        self._beside_async: AsyncConnection | None = None

    def beside(self) -> Connection:
        """Return a connection past the service, in autocommit, which ends with it.

        A new one for each statement would cost more than most requests: PostgreSQL starts a process for each.
        """
        if self._beside is None or self._beside.closed:
            self._beside = psycopg.connect(self.database_url, autocommit=True, prepare_threshold=None)
        return self._beside

    async def beside_async(self) -> AsyncConnection:
        """Return such a connection for the event loop of the service."""
        if self._beside_async is None or self._beside_async.closed:
            self._beside_async = await psycopg.AsyncConnection.connect(
                self.database_url, autocommit=True, prepare_threshold=None
            )
        return self._beside_async

    async def leave(self) -> None:
        """End these connections."""
        if self._beside is not None:
            self._beside.close()
        if self._beside_async is not None:
            await self._beside_async.close()

    async def ask(
        self, method: str, target: str, body: Any = None, *headers: tuple[str, str], token: str | None = None
    ) -> Answer:
        """Send one request with ``body`` as JSON."""
        given = token or self.token
        sent = list(headers) + ([("Authorization", f"Bearer {given}")] if given else [])
        if body is None:
            return await ask(self._app, method, target, *sent)
        return await ask(self._app, method, target, JSON, *sent, body=json.dumps(body).encode())

    async def as_anonymous(
        self, method: str, target: str, *headers: tuple[str, str], body: Any = None
    ) -> Answer:
        """Send one request with ``headers`` and no access token, with ``body`` as JSON if there is one."""
        if body is None:
            return await ask(self._app, method, target, *headers)
        return await ask(self._app, method, target, JSON, *headers, body=json.dumps(body).encode())

    async def as_anonymous_form(self, target: str, form: Mapping[str, str]) -> Answer:
        """Post a form without an access token."""
        media = ("Content-Type", "application/x-www-form-urlencoded")
        return await ask(self._app, "POST", target, media, body=urlencode(form).encode())

    async def ask_from(
        self,
        address: str,
        method: str,
        target: str,
        *headers: tuple[str, str],
        body: bytes = b"",
        token: str | None = None,
    ) -> Answer:
        """Send one request over a connection from ``address``."""
        sent = [*headers, ("Authorization", f"Bearer {token or self.token}")]
        return await ask(self._app, method, target, *sent, client=(address, 4711), body=body)

    async def ask_raw(
        self, method: str, target: str, body: bytes, *headers: tuple[str, str], token: str | None = None
    ) -> Answer:
        """Send one request with ``body`` as it stands, whose type is among ``headers``."""
        given = token or self.token
        sent = [*headers, ("Authorization", f"Bearer {given}")]
        return await ask(self._app, method, target, *sent, body=body)

    async def data(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
        """Send one request that must succeed, and return what it answers."""
        answer = await self.ask(method, target, body, *headers)
        assert answer.status in (200, 201), answer.body
        return answer.json["data"]

    async def preview(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
        """Send the dry run of a request, which must succeed, and return what it says would change."""
        answer = await self.ask(method, f"{target}?dryRun=true", body, *headers)
        assert answer.status == 200, answer.body
        return answer.json["preview"]

    async def log_in(self, user_name: str = ADMINISTRATOR, password: str = ADMINISTRATOR_PASSWORD) -> str:
        """Return an access token of a user."""
        answer = await ask(
            self._app,
            "POST",
            "/api/auth/login",
            JSON,
            body=json.dumps({"userName": user_name, "password": password}).encode(),
        )
        assert answer.status == 200, answer.body
        token: str = answer.json["data"]["accessToken"]
        return token


CHEAP_HASHER: Final = cheap_hasher()


@cache
def _cheap_hash() -> str:
    return CHEAP_HASHER.hash(ADMINISTRATOR_PASSWORD)


@asynccontextmanager
async def inside(database_url: str, redis_url: str, **variables: str) -> AsyncIterator[Inside]:
    """Publish the policy of a seeded database, run the service on it, and log the administrator in.

    Passwords are hashed cheaply, that of the administrator too.
    """
    chosen = settings_of(database_url, redis_url, variables)
    await _publish(database_url, _shipped(chosen), seals_of(chosen.oplog))
    async with _running(chosen) as service:
        yield service


@asynccontextmanager
async def inside_published(database_url: str, redis_url: str, **variables: str) -> AsyncIterator[Inside]:
    """Do the same on a copy of ``published_template``, where the policy has been published.

    The ``variables`` name no other model and no other lines.
    """
    async with _running(settings_of(database_url, redis_url, variables)) as service:
        yield service


async def publish(database_url: str) -> None:
    """Publish the first policy of a seeded database, and give its administrator a cheap hash."""
    await _publish(database_url, _usual(settings.Features()), RevisionSeals())


def settings_of(database_url: str, redis_url: str, variables: Mapping[str, str]) -> settings.Settings:
    """Return the settings of a service on these stores, with ``variables`` beside the usual ones."""
    environ = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "JWT_SECRET": secrets.token_urlsafe(48)}
    chosen = settings.load({"PORTCULLIS_CONFIG": "", **environ, **PATIENT, **USUAL, **OFF, **variables})
    return replace(chosen, password=replace(chosen.password, **COSTS))


def _shipped(chosen: settings.Settings) -> Shipped:
    """Return what the settings name; a test may have changed files of its own since the last start."""
    usual, policy = settings.Policy(), chosen.policy
    usual_files = _usual(chosen.features)
    unlogged = replace(policy, decision_log=usual.decision_log, decision_log_allows=usual.decision_log_allows)
    return usual_files if unlogged == usual else configured(chosen)


@cache
def _usual(features: settings.Features) -> Shipped:
    return configured(settings.Settings(features=features))


async def _publish(database_url: str, shipped: Shipped, seals: RevisionSeals) -> None:
    async with Database(database_url) as opened, opened.transaction(within=30) as connection:
        await publish_if_changed(connection, shipped, seals, "start", anew=True)
        await connection.execute(CHEAPER, {"new": _cheap_hash(), "old": administrator_hash()})


@asynccontextmanager
async def _running(chosen: settings.Settings) -> AsyncIterator[Inside]:
    app = create_app(chosen, _shipped(chosen))
    async with _lifespan(app):
        service = Inside(app, chosen.database.url, chosen.redis.url)
        try:
            service.token = await service.log_in()
            yield service
        finally:
            await service.leave()


@asynccontextmanager
async def _lifespan(app: RequestMiddleware) -> AsyncIterator[None]:
    incoming: asyncio.Queue[Message] = asyncio.Queue()
    outgoing: asyncio.Queue[Message] = asyncio.Queue()
    running = asyncio.create_task(
        app({"type": "lifespan", "asgi": {"version": "3.0"}}, incoming.get, outgoing.put)
    )
    await incoming.put({"type": "lifespan.startup"})
    assert await outgoing.get() == {"type": "lifespan.startup.complete"}
    try:
        yield
    finally:
        await incoming.put({"type": "lifespan.shutdown"})
        ended = await outgoing.get()
        await running
    assert ended == {"type": "lifespan.shutdown.complete"}
