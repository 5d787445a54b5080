"""What operators see of the outbox, and do with it; requests are answered whatever the mail server does."""

import asyncio
import json
from pathlib import Path

from service.features.notices import store_mail as mail
from service.features.notices.checks import CHECKS
from service.features.notices.outbox import reseal_links
from service.features.operations.diagnosis.examination import examine
from service.features.operations.store_restores import end_secrets
from service.features.second_factors.sealing import ID_BYTES, FactorKeys
from service.operator.findings import Finding
from service.records.database.transactions import Database
from service.settings import load
from tests.features.notices.mail.conftest import (
    KEY,
    LINK,
    MAILING,
    execute,
    invitation,
    mailing,
    outbox_of,
    rows,
)
from tests.features.notices.mail.test_killed import Held
from tests.features.notices.mail.test_sending import at, links, now_due, put, sending, states
from tests.support.inside import inside_published
from tests.support.mail_server import mail_server, saying
from tests.support.running import Ended, portcullis
from tests.support.waiting import eventually_here


def variables_of(port: int, **variables: str) -> dict[str, str]:
    given = {f"PORTCULLIS_{name}": value for name, value in variables.items()}
    return MAILING | {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{port}"} | given


async def test_a_service_sends_what_waits_and_answers_requests_while_the_mail_server_hangs(
    published_database_url: str, redis_url: str
) -> None:
    async with Database(published_database_url, timeout=5.0) as database:
        held = Held()
        async with mail_server() as server:
            server.to_rcpt.append(held)
            await put(database, "heron@example.org", "wren@example.org")
            async with inside_published(
                published_database_url, redis_url, **variables_of(server.port)
            ) as service:
                assert await eventually_here(held.reached.is_set)
                for _ in range(20):
                    assert (await service.ask("GET", "/api/user/list")).status == 200
                waiting = await service.data("GET", "/api/mail/list?state=waiting")
                assert waiting["total"] == 2
                held.free.set()
                assert await eventually_here(lambda: len(server.taken) == 2)

                async def listed() -> list[dict[str, object]]:
                    return list((await service.data("GET", "/api/mail/list?state=sent&size=1"))["items"])

                async with asyncio.timeout(20):
                    while not (sent := await listed()):  # noqa: ASYNC110 - the note follows the mail
                        await asyncio.sleep(0.02)
                assert sent[0].keys() == {
                    "id",
                    "messageId",
                    "kind",
                    "recipient",
                    "userId",
                    "state",
                    "attempts",
                    "nextTime",
                    "createTime",
                    "endTime",
                    "fault",
                    "faultCode",
                    "faultParams",
                }
                operations = await service.data("GET", "/api/operation-log/list")
                jobs = await service.data("GET", "/api/jobs")
                assert "V3ry" not in json.dumps([operations, jobs, sent])
                run = next(job for job in jobs["items"] if job["name"] == "mail")["runs"][0]
                assert run["outcome"] in ("running", "done")


async def test_the_outbox_is_listed_by_state_kind_and_user_the_newest_first(
    published_database_url: str, redis_url: str
) -> None:
    async with Database(published_database_url, timeout=5.0) as database:
        async with database.transaction() as connection:
            await outbox_of(mailing()).put(connection, invitation("heron@example.org", user_id=1), LINK)
            await outbox_of(mailing()).put(connection, invitation("wren@example.org"), LINK)
        await execute(
            database,
            "UPDATE sys.mail SET state = 'given_up', sealed_link = NULL, end_time = now(), "
            "fault = 'RCPT: 550' WHERE recipient LIKE 'wren%'",
        )
        async with inside_published(published_database_url, redis_url) as service:  # which sends no mail
            every = (await service.data("GET", "/api/mail/list"))["items"]
            assert [entry["recipient"] for entry in every] == ["wren@example.org", "heron@example.org"]
            for query, recipient in (
                ("state=given_up", "wren@example.org"),
                ("state=waiting,sent", "heron@example.org"),
                ("userId=1&kind=invitation", "heron@example.org"),
            ):
                (entry,) = (await service.data("GET", f"/api/mail/list?{query}"))["items"]
                assert entry["recipient"] == recipient, query
            assert every[0]["fault"] == "RCPT: 550"
            assert (every[0]["faultCode"], every[0]["faultParams"]["codes"]) == ("smtp_answered", "550")
            assert (await service.ask("GET", "/api/mail/list?state=lost")).status == 422
            assert "V3ry" not in json.dumps(every)


async def finding_of(database_url: str, **variables: str) -> Finding:
    environ = variables_of(0) | {"DATABASE_URL": database_url, "JWT_SECRET": KEY * 2} | variables
    ((_, finding),) = await examine(environ, load(environ), lambda _: [], CHECKS)
    return finding


async def test_the_doctor_tells_of_a_mail_server_that_can_not_be_used_and_of_mails_that_wait(
    database: Database, seeded_database_url: str
) -> None:
    off = await finding_of(seeded_database_url, PORTCULLIS_MAIL__URL="")
    assert (off.state, off.message) == ("ok", "off: mail.url is empty")
    async with mail_server() as server:
        url = {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{server.port}"}
        fine = await finding_of(seeded_database_url, **url)
        assert (fine.state, fine.message) == (
            "ok",
            "the mail server responds; 0 mails waiting, none for long",
        )
        assert server.taken == []
        await put(database)
        await execute(database, "UPDATE sys.mail SET create_time = now() - interval '90 minutes'")
        late = await finding_of(seeded_database_url, **url)
        assert (late.state, late.message) == ("warning", "1 mail waiting, the oldest for 1.5 h")
        server.to_rcpt.append(saying("550 5.1.1 unknown"))
        await sending(at(server)).run(database)
        given_up = await finding_of(seeded_database_url, **url)
        assert (given_up.state, given_up.message) == ("warning", "1 mail given up within a day")
    gone = await finding_of(seeded_database_url, **url)
    assert gone.state == "fault"
    assert gone.message.startswith("the mail server can't be used: connection: ")


async def test_the_doctor_tells_of_a_mail_server_that_answers_and_takes_no_mail(
    database: Database, seeded_database_url: str
) -> None:
    async with mail_server() as server:
        url = {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{server.port}"}
        server.to_mail.append(saying("550 5.7.1 Sender is not welcome"))
        sender = await finding_of(seeded_database_url, **url)
        assert (sender.state, sender.message) == ("fault", "the mail server can't be used: MAIL: 550 5.7.1")
        for name in ("heron", "wren"):  # both wait: nothing is given up, and nothing is old
            await put(database, f"{name}@example.org")
            server.to_rcpt.append(saying("451 4.7.1 Try later"))
            await sending(at(server)).run(database)
        refused = await finding_of(seeded_database_url, **url)
        assert refused.state == "fault"
        assert refused.message == "the mail server rejected the last 2 mails: RCPT: 451 4.7.1"
        assert server.taken == []
        await put(database, "egret@example.org")
        await sending(at(server)).run(database)
        taken = await finding_of(seeded_database_url, **url)
        assert (taken.state, len(server.taken)) == ("ok", 1)


async def command(tmp_path: Path, port: int, address: str, **variables: str) -> Ended:
    return await asyncio.to_thread(
        portcullis, tmp_path, "mail", "test", address, **variables_of(port, **variables)
    )


async def test_an_operator_sends_a_mail_and_reads_what_the_mail_server_says(tmp_path: Path) -> None:
    async with mail_server() as server:
        server.after_data.append(saying("250 2.0.0 Queued as 4711"))
        sent = await command(tmp_path, server.port, "heron@example.org")
        assert (sent.status, sent.output) == (0, "The mail server accepted the mail: 2.0.0 Queued as 4711\n")
        assert server.taken[0][1]["Subject"] == "[admin.example.com] Test mail"
        server.to_rcpt.append(saying("550 5.1.1 No such \x1b[31muser"))
        refused = await command(tmp_path, server.port, "heron@example.org")
        assert refused.status == 1
        assert "The mail was not accepted: RCPT: 550 5.1.1 (5.1.1 No such \\x1b[31muser)" in refused.errors
        injected = await command(tmp_path, server.port, "heron@example.org\r\nBcc: eve@evil.example")
        assert injected.status == 1
        assert "it has no valid email address" in injected.errors
        assert len(server.taken) == 1
        chinese = await command(tmp_path, server.port, "heron@example.org", MAIL__LANGUAGE="zh-cn")
        assert (chinese.status, server.taken[1][1]["Content-Language"]) == (0, "zh-CN")
    unreachable = await command(tmp_path, server.port, "heron@example.org")
    assert (unreachable.status, "connection: " in unreachable.errors) == (1, True)
    off = await command(tmp_path, 1, "heron@example.org", MAIL__URL="")
    assert (off.status, "mail.url is empty" in off.errors) == (1, True)


async def test_links_are_sealed_anew_with_a_new_key_and_still_arrive(database: Database) -> None:
    new = "another-key-of-the-tests-0123456789ab"
    old, both, only_new = FactorKeys(KEY), FactorKeys(new, KEY), FactorKeys(new)
    await put(database, "heron@example.org", "wren@example.org")
    assert await reseal_links(database, old) == 0
    assert await reseal_links(database, only_new) == 0  # which opens none, and leaves them as they are
    assert await reseal_links(database, both) == 2
    assert await reseal_links(database, both) == 0
    async with database.transaction() as connection:
        assert await mail.count_by_key(connection, ID_BYTES) == {both.current: 2}
    async with mail_server() as server:
        await sending(at(server, AUTH__FACTOR_KEY=new)).run(database)
        assert [LINK in message.get_content() for _, message in server.taken] == [True, True]


async def test_a_restore_sends_nothing_that_waited_in_the_backup(database: Database) -> None:
    await put(database, "heron@example.org", "wren@example.org")
    async with mail_server() as server:
        server.to_rcpt += [saying("451 later")] * 2
        await sending(at(server)).run(database)
        async with database.transaction() as connection:
            ended = await end_secrets(connection, api_keys=False, links=False, recovery_codes=False)
        assert ended.mails == 2
        assert await links(database) == [False, False]
        assert {state for state, _, _ in await states(database)} == {"given_up"}
        await now_due(database)
        await sending(at(server)).run(database)
        assert server.taken == []
    faults = {row["fault"] for row in await rows(database, "id, fault")}
    assert faults == {"it was queued in a backup, and may have been sent since"}
