"""Mails arrive once, whole and with good headers; what is not taken waits, or is given up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.features.notices.letters import Letter
from service.features.notices.sending import Sending
from service.features.second_factors.sealing import FactorKeys
from service.kernel.operator_error import OperatorError
from service.records.database.transactions import Database
from service.settings import Settings
from tests.features.notices.mail.conftest import LINK, execute, invitation, mailing, outbox_of, rows
from tests.support.mail_server import MailServer, dropping, mail_server, saying
from tests.support.tls import Authority


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with mail_server() as running:
        yield running


def at(server: MailServer, scheme: str = "smtp", **variables: str) -> Settings:
    return mailing(MAIL__URL=f"{scheme}://127.0.0.1:{server.port}", **variables)


def sending(settings: Settings) -> Sending:
    return Sending(settings, FactorKeys.of(settings.auth))


async def put(database: Database, *recipients: str) -> None:
    for recipient in recipients or ("heron@example.org",):
        async with database.transaction() as connection:
            await outbox_of(mailing()).put(connection, invitation(recipient), LINK)


async def now_due(database: Database) -> None:
    await execute(database, "UPDATE sys.mail SET next_time = now() WHERE state = 'waiting'")


async def states(database: Database) -> list[tuple[str, int, str | None]]:
    return [
        (row["state"], row["attempts"], row["fault"])
        for row in await rows(database, "id, state, attempts, fault")
    ]


async def links(database: Database) -> list[bool]:
    return [row["sealed_link"] is not None for row in await rows(database, "id, sealed_link")]


async def test_a_mail_arrives_whole_and_its_link_is_gone_from_the_table(
    database: Database, server: MailServer
) -> None:
    await put(database)
    (row,) = await rows(database)
    assert await sending(at(server)).run(database) == "1 mails sent, 0 deferred, 0 given up"
    ((recipient, message),) = server.taken
    assert recipient == "heron@example.org"
    assert message["From"] == "portcullis@example.com"
    assert message["To"] == "heron@example.org"
    assert message["Subject"] == "[admin.example.com] Your new account"
    assert message["Message-ID"] == row["message_id"]
    assert message["Date"].datetime == row["create_time"].replace(microsecond=0)
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    text = message.get_content()
    assert LINK in text.splitlines()
    assert "Your user name is heron." in text
    assert await states(database) == [("sent", 1, None)]
    assert await links(database) == [False]
    assert await sending(at(server)).run(database) == "0 mails sent, 0 deferred, 0 given up"
    assert len(server.taken) == 1
    assert server.names == ["admin.example.com"]


async def test_one_connection_carries_all_mails_of_a_run(database: Database, server: MailServer) -> None:
    await put(database, *(f"bird{number}@example.org" for number in range(5)))
    assert await sending(at(server)).run(database) == "5 mails sent, 0 deferred, 0 given up"
    assert [recipient for recipient, _ in server.taken] == [f"bird{n}@example.org" for n in range(5)]
    assert len(server.protocols) == 1


@pytest.mark.parametrize("scheme", ["smtps", "smtp+starttls"])
async def test_a_mail_goes_over_tls_to_a_server_whose_certificate_is_known(
    database: Database, tmp_path: Path, scheme: str
) -> None:
    authority = Authority(tmp_path)
    context = authority.server("127.0.0.1")
    given: dict[str, Any] = {"tls": context} if scheme == "smtps" else {"starttls": context}
    given |= {"auth_require_tls": scheme != "smtps", "require_starttls": scheme != "smtps"}
    async with mail_server(**given) as server:
        settings = at(
            server,
            scheme,
            MAIL__CA_FILE=str(authority.file),
            MAIL__USER="portcullis",
            MAIL__PASSWORD="p4ss",
        )
        await put(database)
        await sending(settings).run(database)
        assert len(server.taken) == 1
        assert server.logins == [(b"portcullis", b"p4ss")]
        if scheme == "smtp+starttls":
            assert server.over_tls == [True]


@pytest.mark.parametrize("scheme", ["smtps", "smtp+starttls"])
@pytest.mark.parametrize("wrong", ["unknown authority", "another name"])
async def test_a_server_whose_certificate_does_not_fit_gets_nothing(
    database: Database, tmp_path: Path, scheme: str, wrong: str
) -> None:
    authority = Authority(tmp_path)
    context = authority.server("127.0.0.1" if wrong == "unknown authority" else "127.0.0.2")
    given: dict[str, Any] = {"tls": context} if scheme == "smtps" else {"starttls": context}
    known = {} if wrong == "unknown authority" else {"MAIL__CA_FILE": str(authority.file)}
    async with mail_server(**given) as server:
        await put(database)
        with pytest.raises(OperatorError, match="the certificate is refused"):
            await sending(at(server, scheme, **known)).run(database)
        assert (server.taken, server.logins) == ([], [])
    ((state, attempts, fault),) = await states(database)
    assert (state, attempts) == ("waiting", 1)
    step = "connection" if scheme == "smtps" else "STARTTLS"
    assert str(fault).startswith(f"{step}: the certificate is refused")


async def test_a_server_that_does_not_offer_starttls_gets_no_mail_and_no_password(
    database: Database, server: MailServer
) -> None:
    await put(database)
    settings = at(server, "smtp+starttls", MAIL__USER="portcullis", MAIL__PASSWORD="p4ss")
    with pytest.raises(OperatorError, match="STARTTLS: SMTP STARTTLS extension not supported"):
        await sending(settings).run(database)
    assert (server.taken, server.logins) == ([], [])


async def test_a_wrong_password_of_the_mail_server_defers_and_is_told(
    database: Database, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    async with mail_server(tls=authority.server("127.0.0.1"), auth_require_tls=False) as server:
        settings = at(
            server, "smtps", MAIL__CA_FILE=str(authority.file), MAIL__USER="u", MAIL__PASSWORD="wrong"
        )
        await put(database)
        with pytest.raises(OperatorError, match=r"login: 535 5\.7\.8"):
            await sending(settings).run(database)
    assert (await states(database))[0][0] == "waiting"


async def test_mails_wait_while_the_server_refuses_connections_and_go_when_it_is_back(
    database: Database, server: MailServer
) -> None:
    async with mail_server() as gone:
        away = at(gone)
    await put(database, "heron@example.org", "wren@example.org")
    with pytest.raises(OperatorError, match=r"connection: Connect.*"):
        await sending(away).run(database)
    assert [(state, attempts) for state, attempts, _ in await states(database)] == [("waiting", 1)] * 2
    assert await links(database) == [True, True]
    assert not await pending(database, away)  # both wait, so that a dead server is asked once
    await now_due(database)
    assert await pending(database, away)
    await sending(at(server)).run(database)
    assert len(server.taken) == 2
    assert await states(database) == [("sent", 2, None)] * 2


async def pending(database: Database, settings: Settings) -> bool:
    async with database.transaction() as connection:
        return await sending(settings).pending(connection)


@pytest.mark.parametrize(
    ("step", "answer", "fault"),
    [
        ("to_rcpt", "451 4.7.1 Greylisted", "RCPT: 451 4.7.1"),
        ("to_rcpt", "452 mailbox full", "RCPT: 452"),
        ("to_data", "451 4.3.0 later", "DATA: 451 4.3.0"),
    ],
)
async def test_a_mail_that_is_refused_for_now_is_sent_again_and_others_are_not_held_up(
    database: Database, server: MailServer, step: str, answer: str, fault: str
) -> None:
    await put(database, "heron@example.org", "wren@example.org")
    getattr(server, step).append(saying(answer))
    assert await sending(at(server)).run(database) == "1 mails sent, 1 deferred, 0 given up"
    assert await states(database) == [("waiting", 1, fault), ("sent", 1, None)]
    await now_due(database)
    await sending(at(server)).run(database)
    assert [recipient for recipient, _ in server.taken] == ["wren@example.org", "heron@example.org"]


@pytest.mark.parametrize(
    ("step", "answer", "fault"),
    [
        ("to_rcpt", "550 5.1.1 No such user heron@example.org", "RCPT: 550 5.1.1"),
        ("to_data", f"554 5.7.1 Spam, see {LINK}", "DATA: 554 5.7.1"),
    ],
)
async def test_a_mail_that_is_refused_for_good_is_given_up_at_once_without_its_link(
    database: Database, server: MailServer, step: str, answer: str, fault: str
) -> None:
    await put(database)
    getattr(server, step).append(saying(answer))
    assert await sending(at(server)).run(database) == "0 mails sent, 0 deferred, 1 given up"
    assert await states(database) == [("given_up", 1, fault)]
    assert await links(database) == [False]


@pytest.mark.parametrize(
    ("step", "answer", "fault"),
    [
        ("to_mail", "550 5.7.1 Sender unknown", "MAIL: 550 5.7.1"),
        ("to_rcpt", "530 5.7.0 Authentication required", "RCPT: 530 5.7.0"),
        ("to_rcpt", "421 4.3.2 Closing", "RCPT: 421 4.3.2"),
    ],
)
async def test_what_the_server_has_against_the_service_gives_up_no_mail(
    database: Database, server: MailServer, step: str, answer: str, fault: str
) -> None:
    await put(database, "heron@example.org", "wren@example.org")
    getattr(server, step).append(saying(answer))
    with pytest.raises(OperatorError, match=fault):
        await sending(at(server)).run(database)
    assert await states(database) == [("waiting", 1, fault)] * 2
    assert await links(database) == [True, True]


async def test_a_server_that_drops_the_connection_in_data_gets_the_same_mail_again(
    database: Database, server: MailServer
) -> None:
    await put(database, "heron@example.org", "wren@example.org")
    server.to_data.append(dropping)
    assert await sending(at(server)).run(database) == "1 mails sent, 1 deferred, 0 given up"
    (first, *_) = await rows(database)
    assert str(first["fault"]).startswith("DATA: the server has closed the connection")
    await now_due(database)
    await sending(at(server)).run(database)
    assert len(server.taken) == 2
    assert server.message_ids[1] == first["message_id"]


async def test_the_same_mail_is_the_same_bytes_each_time(database: Database, server: MailServer) -> None:
    await put(database)
    server.after_data.append(dropping)  # accepted, and the answer is lost
    await sending(at(server)).run(database)
    await now_due(database)
    await sending(at(server)).run(database)
    assert server.raw[0] == server.raw[1]


async def test_a_slow_server_is_given_up_after_the_timeout_and_the_mail_waits(
    database: Database, server: MailServer
) -> None:
    async def never(_server: object) -> str:
        await asyncio.sleep(60)
        return "250 OK"

    await put(database)
    server.to_rcpt.append(never)
    assert (
        await sending(at(server, MAIL__TIMEOUT="1")).run(database) == "0 mails sent, 1 deferred, 0 given up"
    )
    assert await states(database) == [("waiting", 1, "RCPT: no answer in time")]


async def test_a_server_may_take_longer_to_accept_a_message_than_for_other_answers(
    database: Database, server: MailServer
) -> None:
    async def slowly(_server: object) -> str:
        await asyncio.sleep(2.5)
        return "250 OK"

    await put(database)
    server.after_data.append(slowly)
    assert (
        await sending(at(server, MAIL__TIMEOUT="1")).run(database) == "1 mails sent, 0 deferred, 0 given up"
    )
    assert len(server.taken) == 1


async def test_two_runs_at_once_send_each_mail_once(database: Database, server: MailServer) -> None:
    recipients = [f"bird{number}@example.org" for number in range(12)]
    await put(database, *recipients)
    await asyncio.gather(*(sending(at(server)).run(database) for _ in range(3)))
    assert sorted(recipient for recipient, _ in server.taken) == sorted(recipients)


async def test_who_was_held_up_for_too_long_does_not_send_what_another_one_has_claimed(
    database: Database, server: MailServer
) -> None:
    await put(database)

    async def meanwhile(_server: object) -> str:
        await now_due(database)
        await sending(at(server)).run(database)
        return "250 OK"

    server.to_rcpt.append(meanwhile)
    await sending(at(server)).run(database)
    assert len(server.taken) == 1
    assert await states(database) == [("sent", 2, None)]


async def test_a_run_that_is_stopped_finishes_the_mail_that_is_under_way(
    database: Database, server: MailServer
) -> None:
    accepted = asyncio.Event()

    async def slowly(_server: object) -> str:
        accepted.set()
        await asyncio.sleep(0.5)
        return "250 OK"

    await put(database, "heron@example.org", "wren@example.org")
    server.after_data.append(slowly)
    run = asyncio.create_task(sending(at(server)).run(database))
    await accepted.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [state for state, _, _ in await states(database)] == ["sent", "waiting"]


async def test_retries_come_less_and_less_often(database: Database, server: MailServer) -> None:
    await put(database)
    waits = []
    for _ in range(9):
        server.to_rcpt.append(saying("451 later"))
        await sending(at(server)).run(database)
        (row,) = await rows(
            database, "id, round(extract(epoch FROM next_time - now()) / 30) AS halves, attempts"
        )
        waits.append(int(row["halves"]))
        await now_due(database)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


async def test_after_a_day_a_mail_is_given_up_and_after_seven_more_it_is_forgotten(
    database: Database, server: MailServer
) -> None:
    await put(database)
    server.to_rcpt.append(saying("451 later"))
    await sending(at(server)).run(database)
    await execute(
        database, "UPDATE sys.mail SET create_time = now() - interval '25 hours', next_time = now()"
    )
    assert await sending(at(server)).run(database) == "0 mails sent, 0 deferred, 1 given up"
    assert await states(database) == [("given_up", 1, "RCPT: 451")]
    assert await links(database) == [False]
    assert server.taken == []
    assert not await pending(database, at(server))
    await execute(database, "UPDATE sys.mail SET end_time = now() - interval '8 days'")
    assert await pending(database, at(server))
    await sending(at(server)).run(database)
    assert await rows(database) == []


async def test_without_a_mail_server_what_still_waits_is_given_up_after_a_day(database: Database) -> None:
    await put(database)
    off = mailing(MAIL__URL="")
    assert not await pending(database, off)
    assert sending(off).interval == 3600.0
    await execute(database, "UPDATE sys.mail SET create_time = now() - interval '25 hours'")
    assert await pending(database, off)
    assert await sending(off).run(database) == "0 mails sent, 0 deferred, 1 given up"


async def test_a_link_that_no_key_opens_waits_for_its_key(database: Database, server: MailServer) -> None:
    await put(database)
    other = at(server, AUTH__FACTOR_KEY="another-key-of-the-tests-0123456789ab")
    await sending(other).run(database)
    assert await states(database) == [("waiting", 1, "the link can't be read: see auth.factor_key")]
    await now_due(database)
    await sending(at(server)).run(database)
    assert LINK in server.taken[0][1].get_content()


@pytest.mark.parametrize(
    "address",
    [
        "heron@example.org\r\nBcc: eve@evil.example",
        "heron@example.org>\r\nRCPT TO:<eve@evil.example",
        "heron@example.org\nSubject: Pay here",
        "heron@example.org\x00",
        "@example.org",
        "heron@exa mple.org",
        "heron, eve@example.org",
    ],
)
async def test_an_address_that_would_be_more_than_an_address_gets_nothing(
    database: Database, server: MailServer, address: str
) -> None:
    async with database.transaction() as connection:
        letter = Letter("test", address.replace("\x00", "\x01"), None, {})
        await outbox_of(mailing()).put(connection, letter)
    await sending(at(server)).run(database)
    assert server.taken == []
    assert await states(database) == [("given_up", 1, "it has no valid email address")]


async def test_names_with_line_breaks_make_no_header_and_no_paragraph(
    database: Database, server: MailServer
) -> None:
    facts = {"user_name": "Eve\r\nBcc: x@evil.example\r\n\r\nOpen https://evil.example", "until": "later"}
    async with database.transaction() as connection:
        await outbox_of(mailing()).put(
            connection, Letter("invitation", "heron@example.org", None, facts), LINK
        )
    await sending(at(server)).run(database)
    ((recipient, message),) = server.taken
    assert message["Bcc"] is None
    assert message["Subject"] == "[admin.example.com] Your new account"
    assert "\nBcc" not in message.get_content()
    assert "https://evil" not in message.get_content()
    assert recipient == "heron@example.org"


async def test_addresses_of_other_alphabets_are_written_as_the_server_can_take_them(
    database: Database, server: MailServer
) -> None:
    await put(database, "heron@straße.example", "reiher.ü@example.org")
    await sending(at(server)).run(database)
    assert [recipient for recipient, _ in server.taken] == [
        "heron@xn--strae-oqa.example",
        "reiher.ü@example.org",
    ]
    async with mail_server(utf8=False) as ascii_only:
        await put(database, "reiher.ü@example.org")
        await sending(at(ascii_only)).run(database)
        assert ascii_only.taken == []
    assert (await states(database))[-1] == (
        "given_up",
        1,
        "RCPT: the mail server only accepts ASCII addresses",
    )


async def test_nothing_of_a_link_is_logged(
    database: Database, server: MailServer, capsys: pytest.CaptureFixture[str]
) -> None:
    await put(database, "heron@example.org", "wren@example.org", "lost@example.org")
    server.to_data.append(saying(f"451 {LINK}"))
    server.to_data.append(saying(f"554 {LINK}"))
    await sending(at(server)).run(database)
    logged = "".join(capsys.readouterr())
    assert "a mail is given up" in logged
    assert "V3ry" not in logged
    assert "example.org" not in logged
