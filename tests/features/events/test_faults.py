"""Ten thousand events while workers and both stores are killed: none is lost or made up."""

import asyncio
import base64
import itertools
import json
import os
import random
import signal
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Any, Final

import psycopg
import pytest

from service.features.embedded.stores import urls_of_running
from tests.features.events.receiving import Receiver, receiving
from tests.support.running import Running, children, running

pytestmark = [pytest.mark.extended, pytest.mark.timeout(1_200)]

EVENTS = 10_000
WRITERS = 4
USERS = 8
PAUSE = 0.04
"""Seconds between two changes of a writer: the writing must outlive many kills."""
SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"


KINDS: Final = ["user.disabled", "user.enabled"]
USER: Final = "INSERT INTO sys.user (user_name, user_name_key, nick_name) VALUES (%s, %s, %s) RETURNING id"
VICTIMS: Final = ("worker", "database", "connection", "session store")


class Writer:
    """Toggles users of its own, in transactions of which some are rolled back.

    ``committed`` has the kinds of each user, in order; ``begun`` has the time at which each commit began.
    """

    def __init__(self, url: str, user_ids: list[int]) -> None:
        self.url = url
        self.user_ids = user_ids
        self.committed: dict[int, list[str]] = {user_id: [] for user_id in user_ids}
        self.begun: dict[int, list[float]] = {user_id: [] for user_id in user_ids}
        self.unknown: dict[int, int] = dict.fromkeys(user_ids, 0)

    async def write(self, number: int) -> None:
        """Commit ``number`` changes, whatever happens to the database meanwhile."""
        connection: psycopg.AsyncConnection[Any] | None = None
        done = 0
        while done < number:
            try:
                if connection is None:
                    connection = await psycopg.AsyncConnection.connect(self.url)
                    done += await self.settle(connection)
                done += await self.change(connection, random.choice(self.user_ids))
                await asyncio.sleep(random.uniform(0, 2 * PAUSE))
            except psycopg.OperationalError:
                connection = None
                await asyncio.sleep(0.2)
        assert connection is not None
        await self.settle(connection)
        await connection.close()

    async def change(self, connection: psycopg.AsyncConnection[Any], user_id: int) -> int:
        kinds = self.committed[user_id]
        status = "enabled" if len(kinds) % 2 else "disabled"
        await connection.execute(
            "UPDATE sys.user SET status = %s, version = version + 1 WHERE id = %s", [status, user_id]
        )
        if random.random() < 0.1:
            await connection.rollback()
            return 0
        self.unknown[user_id] += 1
        self.begun[user_id].append(monotonic())
        await connection.commit()
        self.unknown[user_id] -= 1
        kinds.append(f"user.{status}")
        return 1

    async def settle(self, connection: psycopg.AsyncConnection[Any]) -> int:
        """Find out whether the change was committed whose commit was interrupted."""
        settled = 0
        for user_id, number in self.unknown.items():
            if number:
                row = await (
                    await connection.execute("SELECT status FROM sys.user WHERE id = %s", [user_id])
                ).fetchone()
                assert row is not None
                kinds = self.committed[user_id]
                if row[0] == ("enabled" if len(kinds) % 2 else "disabled"):
                    kinds.append(f"user.{row[0]}")
                    settled += 1
                else:
                    self.begun[user_id].pop()
                self.unknown[user_id] = 0
        await connection.rollback()
        return settled


class Timed(Receiver):
    """A receiver that knows when each message arrived, and that answers some with an error."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def noted(self) -> None:
        """Note the arrival of a message."""
        self.times.append(monotonic())
        if random.random() < 0.001:
            self.statuses.append("503 Service Unavailable")


async def test_no_event_is_lost_made_up_or_out_of_order_while_workers_and_stores_are_killed(
    tmp_path: Path,
) -> None:
    async with receiving(Timed()) as receiver:
        members = {"url": receiver.url, "secret": SECRET, "internal": True, "kinds": KINDS, "timeout": 2}
        variables = {"PORTCULLIS_EVENTS__DESTINATIONS": json.dumps({"warehouse": members})}
        data = tmp_path / "data"
        with running(tmp_path, "--workers", "2", "--data", str(data), **variables) as service:
            urls = urls_of_running(data)
            assert urls is not None
            with psycopg.connect(urls[0], autocommit=True) as connection:
                ids = [
                    connection.execute(USER, [f"user-{number}"] * 3).fetchall()[0][0]
                    for number in range(USERS)
                ]
            await started(urls[0])
            writers = [Writer(urls[0], ids[place::WRITERS]) for place in range(WRITERS)]
            killed: Counter[str] = Counter()
            killing = asyncio.create_task(kill(service, killed))
            begun = monotonic()
            await asyncio.gather(*(writer.write(EVENTS // WRITERS) for writer in writers))
            written = monotonic() - begun
            assert not killing.done()
            killing.cancel()
            expected = sum(len(kinds) for writer in writers for kinds in writer.committed.values())
            async with asyncio.timeout(600):
                while len(set(receiver.ids)) < expected:  # noqa: ASYNC110 - no event tells of it
                    await asyncio.sleep(0.5)
            await asyncio.sleep(3)
    judge(receiver, writers)
    assert min(killed[victim] for victim in VICTIMS) > 1, killed
    repeated = len(receiver.ids) - len(set(receiver.ids))
    print(f"{expected} events in {written:.0f} s, {repeated} repeated, killed: {dict(killed)}")  # noqa: T201 - the numbers of the run


def judge(receiver: Timed, writers: list[Writer]) -> None:
    """Compare what arrived with what was committed, by user."""
    arrived: dict[int, list[tuple[str, float]]] = {}
    bodies: dict[str, Any] = {}
    for message_id, event, at in zip(receiver.ids, receiver.events, receiver.times, strict=True):
        if message_id in bodies:
            assert bodies[message_id] == event
            continue
        bodies[message_id] = event
        arrived.setdefault(event["data"]["userId"], []).append((event["type"], at))
    for writer in writers:
        for user_id, kinds in writer.committed.items():
            events = arrived.pop(user_id, [])
            assert [kind for kind, _ in events] == kinds
            assert all(at > begun for (_, at), begun in zip(events, writer.begun[user_id], strict=True))
    assert arrived == {}


async def started(url: str) -> None:
    """Return once a worker has begun to send."""
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        asked = "SELECT count(*) FROM sys.rights_event_destination WHERE worker IS NOT NULL"
        while await (await connection.execute(asked)).fetchone() != (1,):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.1)


async def kill(service: Running, killed: Counter[str]) -> None:
    """Kill a worker, the database, one of its connections or the session store, in turn, with pauses."""
    launcher = service.process.pid
    for victim in itertools.cycle(VICTIMS):
        await asyncio.sleep(random.uniform(1, 4))
        database = await running_of(launcher, "bin/postgres")
        if victim == "worker":
            pids = service.workers
        elif victim == "session store":
            pids = await running_of(launcher, "valkey-server")
        elif victim == "database":
            pids = database
        else:
            pids = [pid for parent in database for pid in children(parent) if "[local]" in command_of(pid)]
        if pids:
            os.kill(random.choice(pids), signal.SIGKILL)
            killed[victim] += 1


async def running_of(launcher: int, program: str) -> list[int]:
    """Return the process of a store, once it runs again after the last kill."""
    async with asyncio.timeout(60):
        while not (pids := [pid for pid in children(launcher) if program in command_of(pid)]):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)
    return pids


def command_of(pid: int) -> str:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
