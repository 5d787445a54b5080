"""A killed process loses no mail, and none arrives twice whose acceptance a server has answered for."""

import asyncio
from multiprocessing.process import BaseProcess

import pytest

from service.records.database.transactions import Database
from tests.features.notices.mail import sender
from tests.features.notices.mail.conftest import MAILING
from tests.features.notices.mail.test_sending import at, now_due, put, sending, states
from tests.support.forks import forks
from tests.support.mail_server import MailServer, mail_server
from tests.support.waiting import eventually_here


def another_process(server: MailServer, url: str) -> BaseProcess:
    variables = MAILING | {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{server.port}"}
    process = forks().Process(target=sender.run, args=(url, variables))
    process.start()
    return process


class Held:
    """An answer that comes only when it is asked for."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.free = asyncio.Event()

    async def __call__(self, _server: object) -> str:
        self.reached.set()
        await self.free.wait()
        return "250 OK"


@pytest.mark.parametrize("step", ["to_mail", "to_rcpt", "to_data"])
async def test_a_mail_that_was_under_way_arrives_once_by_a_later_run(
    database: Database, seeded_database_url: str, step: str
) -> None:
    await put(database, "heron@example.org", "wren@example.org")
    async with mail_server() as server:
        held = Held()
        getattr(server, step).append(held)
        process = another_process(server, seeded_database_url)
        await held.reached.wait()
        process.kill()
        await asyncio.to_thread(process.join)
        held.free.set()
        assert server.taken == []

        await sending(at(server)).run(database)  # the one under way may still be sent by whom it belongs to
        assert [recipient for recipient, _ in server.taken] == ["wren@example.org"]
        await now_due(database)  # its time is over
        await sending(at(server)).run(database)
        assert [recipient for recipient, _ in server.taken] == ["wren@example.org", "heron@example.org"]
    assert await states(database) == [("sent", 2, None), ("sent", 1, None)]


async def test_a_mail_whose_acceptance_nobody_has_heard_of_comes_again_under_the_same_message_id(
    database: Database, seeded_database_url: str
) -> None:
    await put(database)
    async with mail_server() as server:
        held = Held()
        server.after_data.append(held)
        process = another_process(server, seeded_database_url)
        await held.reached.wait()
        process.kill()
        await asyncio.to_thread(process.join)
        await now_due(database)
        await sending(at(server)).run(database)
        assert len(server.taken) == 2
        assert len(set(server.message_ids)) == 1


async def test_of_many_mails_none_is_lost_and_none_comes_twice_whenever_processes_are_killed(
    database: Database, seeded_database_url: str
) -> None:
    recipients = [f"bird{number}@example.org" for number in range(60)]
    await put(database, *recipients)
    async with mail_server() as server:

        async def slowly(_server: object) -> str:
            await asyncio.sleep(0.02)
            return "250 OK"

        server.to_data = [slowly] * 1000
        for count in (7, 21, 40):
            process = another_process(server, seeded_database_url)
            assert await eventually_here(lambda: len(server.taken) >= count)  # noqa: B023 - asked at once
            process.kill()
            await asyncio.to_thread(process.join)
        await now_due(database)
        await sending(at(server)).run(database)
        arrived = [recipient for recipient, _ in server.taken]
        assert sorted(set(arrived)) == sorted(recipients)
        # Killed between the server's answer and the note of it: at most one for each kill, and told apart.
        assert len(arrived) - len(recipients) <= 3
        assert len(set(server.message_ids)) == len(recipients)
    assert {state for state, _, _ in await states(database)} == {"sent"}
