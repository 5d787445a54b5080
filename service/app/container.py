"""All long-lived objects of a worker, made from its settings: the one composition root.

A concern is a frozen dataclass of such objects: ``make`` of its file puts them together.
"""

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from operator import attrgetter
from typing import Any

from service.app import administration, audit_trail, node, policy, sign_in, stores
from service.app.parts import Part, only, parts_of
from service.app.readiness import SLOWLY
from service.authz.publishing.revisions import PublishedRevisions, reader_of
from service.authz.publishing.shipped import Shipped
from service.kernel.feature import on_by
from service.kernel.notify import mailer_of, notices_of
from service.kernel.worker_slot import Slot
from service.settings import Auth, Settings
from service.web.messages.cookies import Cookies
from service.web.requests.agent_approvals import approvals_of
from service.web.requests.cors import CrossOrigin
from service.web.requests.credentials import CookieToken, HeaderToken
from service.web.requests.guard import AuthorizationGuard


class Container:
    """The long-lived objects of one worker, by concern. Creating them connects to nothing.

    ``slot`` is the place of the worker in its node; None for one without a launcher.
    """

    def __init__(self, settings: Settings, shipped: Shipped, slot: Slot | None = None) -> None:
        self.worker = worker = _worker_name(slot)
        self.slot = slot
        self.settings = settings
        self.stores = stores.make(settings)
        self.trail = audit_trail.make(settings, self.stores, worker)
        self.policy = policy.make(
            settings,
            shipped,
            self.stores,
            worker,
            self._troubles,
            former=() if slot is None else slot.former,
        )
        self.mailer = mailer_of(settings)
        notices = notices_of(settings)
        self.sign_in = sign_in.make(settings, self.stores, self.policy, self.trail, notices)
        self.administration = administration.make(
            settings, self.stores, self.policy, self.trail, self.sign_in, notices=notices
        )
        self.revisions = PublishedRevisions(self.policy.live, reader_of(self.stores.database))
        self.node = node.make(settings, self.stores, self.policy, self.trail, worker=worker)
        self.cross_origin = CrossOrigin(settings.server.cors_origins, settings.auth.token_name)
        self.guard = AuthorizationGuard(
            _token_of_requests(settings.auth, self.sign_in.cookies),
            self.sign_in.authenticator,
            self.policy.live,
            self.revisions,
            self.stores.sessions.synchronized.now,
            self.sign_in.current_rights,
            approvals_of(self.stores.database, notices, settings.features.off),
        )
        self.features = on_by(settings.features.off)
        self.parts: dict[str, Part] = {}  # which a part keeps while the others are made
        self.parts.update(parts_of(self, self.features))
        self.decisions = only(self.parts.values(), attrgetter("decisions"))
        """The decision log; None where it goes nowhere."""

    def begin_as(self, slot: Slot) -> None:
        """Take the place ``slot`` of a node in this process; the container was made in another process.

        Before anything has started. There are no traces yet, which would name the other process.
        """
        self.worker = worker = _worker_name(slot)
        self.slot = slot
        self.trail.journal.name_worker(worker)
        self.policy.watch.name_worker(worker, slot.former)
        self.node.scheduler.runner.worker = worker
        for part in self.parts.values():
            part.name_worker(worker)

    def _troubles(self) -> dict[str, dict[str, Any]]:
        return self.node.readiness.troubles()

    async def close(self) -> None:
        """Release threads and connections, first those that use others; each of them, even if one fails."""
        self.sign_in.passwords.close()
        in_order = (
            self.node.readiness.finish,
            *(part.finish for part in self.parts.values() if not part.last),
            self.sign_in.key_callers.finish,
            self.sign_in.current_rights.finish,
            self.sign_in.revocations.finish,
            self.trail.journal.finish,
            self.stores.sessions.close,
            self.stores.log_snapshots.close,
            self.stores.database.close,
            *(part.finish for part in self.parts.values() if part.last),
        )
        async with AsyncExitStack() as last_first:
            for end in reversed(in_order):
                last_first.push_async_callback(end)


def _token_of_requests(auth: Auth, cookies: Cookies) -> HeaderToken:
    header = (auth.token_name, auth.token_prefix)
    return CookieToken(*header, cookies) if cookies.on else HeaderToken(*header)


def _worker_name(slot: Slot | None) -> str:
    if slot is not None:
        return slot.name_of(os.getpid())
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


class Lifespan:
    """Falcon's hooks for the start and the end of a worker."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._running: list[asyncio.Task[None]] = []

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Load the policy and keep it current; requests are refused until the first policy is loaded.

        A failed start closes its resources, since ``process_shutdown`` is not called after it.
        """
        try:
            await self._start()
        except BaseException:
            await self.process_shutdown(scope, event)
            raise

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Stop background tasks and release resources."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        try:
            if self._running:
                await self._container.policy.watch.leave()
        finally:
            await self._container.close()

    async def _start(self) -> None:
        await self._container.stores.clock_watch.look()
        await self._container.policy.watch.look()
        await self._container.trail.journal.start()
        await self._container.node.readiness.look()
        container = self._container
        for part in container.parts.values():
            part.start()
        work = (
            container.policy.watch,
            container.stores.clock_watch,
            container.node.scheduler,
        )
        self._running = [asyncio.create_task(runner.run()) for runner in work]
        running = (part.runs for part in container.parts.values())
        self._running += (asyncio.ensure_future(run()) for run in running if run is not None)
        self._running.append(asyncio.create_task(container.node.readiness.run(SLOWLY)))
        self._running.append(asyncio.create_task(container.stores.sessions.follow_primary()))
        for part in container.parts.values():
            part.serves()
        # Objects created so far are permanent: keep the garbage collector from scanning them during requests.
        gc.collect()
        gc.freeze()
