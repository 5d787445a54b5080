"""A mail is there if what it tells was saved; its link is readable only with the key and beside its row."""

from datetime import datetime, timedelta, timezone

import pytest

from service.errors import Unavailable
from service.features.account_links.links import AccountLinks
from service.features.notices.letters import FORMS, Letter, Reader, has_link, names_of, own_texts, text_of
from service.features.notices.outbox import about
from service.features.second_factors.sealing import FactorKeys
from service.records.database.transactions import Database
from service.settings import SettingsError, load
from tests.features.notices.mail.conftest import (
    KEY,
    LINK,
    MAILING,
    SITE,
    execute,
    invitation,
    mailing,
    outbox_of,
    rows,
)
from tests.support.cases import with_each
from tests.support.seeded import create_user


async def test_a_mail_is_written_by_the_transaction_of_what_it_tells(database: Database) -> None:
    outbox = outbox_of(mailing())
    async with database.transaction() as connection:
        assert await outbox.put(connection, invitation(), LINK)
        await connection.rollback()
    assert await rows(database) == []
    async with database.transaction() as connection:
        assert await outbox.put(connection, invitation(), LINK)
        assert await outbox.put(connection, invitation("wren@example.org"), LINK)
    first, second = await rows(database)
    assert (first["recipient"], first["kind"], first["state"]) == (
        "heron@example.org",
        "invitation",
        "waiting",
    )
    assert (first["attempts"], first["end_time"], first["fault"]) == (0, None, None)
    assert first["message_id"].endswith("@example.com>")
    assert first["message_id"] != second["message_id"]


async def test_a_link_is_encrypted_and_opens_for_its_own_mail_only(database: Database) -> None:
    async with database.transaction() as connection:
        await outbox_of(mailing()).put(connection, invitation(), LINK)
        await outbox_of(mailing()).put(connection, invitation(), LINK)
    first, second = await rows(database)
    texts = await rows(database, "mail::text AS texts")
    assert "V3ry" not in str(texts)
    assert LINK.encode().hex() not in str(texts)
    keys = FactorKeys(KEY)
    assert keys.open(bytes(first["sealed_link"]), about(first["message_id"])) == LINK.encode()
    with pytest.raises(Unavailable):
        keys.open(bytes(first["sealed_link"]), about(second["message_id"]))
    with pytest.raises(Unavailable):
        FactorKeys("another-key-of-the-tests-0123456789ab").open(
            bytes(first["sealed_link"]), about(first["message_id"])
        )


async def test_without_a_mail_server_nothing_is_written_and_nothing_is_missed(database: Database) -> None:
    outbox = outbox_of(load({"PORTCULLIS_CONFIG": ""}))
    assert not outbox.enabled
    async with database.transaction() as connection:
        assert not await outbox.put(connection, invitation(), LINK)
    assert await rows(database) == []


async def test_a_letter_that_needs_a_link_is_refused_without_one(database: Database) -> None:
    async with database.transaction() as connection:
        with pytest.raises(ValueError, match="needs a link"):
            await outbox_of(mailing()).put(connection, invitation())


async def test_the_mails_of_a_deleted_user_are_gone(database: Database) -> None:
    async with database.transaction() as connection:
        user = await create_user(connection, "wren", "x")
    async with database.transaction() as connection:
        await outbox_of(mailing()).put(connection, invitation(user_id=user), LINK)
    await execute(database, "DELETE FROM sys.user WHERE user_name = 'wren'")
    assert await rows(database) == []


async def test_a_link_begins_with_the_public_url_of_the_settings(database: Database) -> None:
    async with database.transaction() as connection:
        user = await create_user(connection, "wren", "x")
        links = AccountLinks(outbox_of(mailing()), mailing().server.public_url, 60)
        link = await links.make(connection, "invitation", user, email=None)
    assert link.url.startswith(f"{SITE}/console#/invitation?token=")


@with_each("kind", FORMS)
def test_each_kind_of_mail_has_words_for_its_facts_and_its_link(kind: str) -> None:
    facts = dict.fromkeys(names_of(own_texts("en"), kind), "on Monday")
    letter = Letter(kind, "heron@example.org", None, facts)
    subject, text = text_of(kind, letter.shown_facts(Reader()), SITE, LINK, "en")
    assert subject.isascii()
    assert "\n" not in subject
    assert SITE in text
    assert text.isascii()  # so that no mail server needs to encode it
    assert (LINK in text) == has_link(kind)
    assert "{" not in text
    if not FORMS[kind].needs_link:
        assert LINK not in text_of(kind, letter.shown_facts(Reader()), SITE, None, "en")[1]


def test_a_mail_about_a_record_has_its_page_of_the_console() -> None:
    _, text = text_of("review_due", {"review": "7/..", "title": "x", "until": "x"}, SITE, None, "en")
    assert f"\n{SITE}/console/#/reviews/7%2F..\n" in text


def test_a_letter_without_a_fact_that_its_words_name_is_refused() -> None:
    with pytest.raises(KeyError, match="needs until"):
        Letter("invitation", "heron@example.org", None, {"user_name": "heron"})
    with pytest.raises(KeyError):
        Letter("love", "heron@example.org", None, {})


def test_facts_stay_on_their_line_and_lead_nowhere() -> None:
    name = "Eve\r\n\r\nOpen https://evil.example/ or WWW.evil.example now\u202e" + "x" * 500
    until = datetime(2026, 11, 24, 2, 30, tzinfo=timezone(timedelta(hours=2)))
    shown = Letter("invitation", "heron@example.org", None, {"user_name": name, "until": until}).shown_facts(
        Reader()
    )
    assert shown["user_name"].startswith(
        "Eve\\r\\n\\r\\nOpen https:/ /evil.example/ or WWW .evil.example now\\u202e"
    )
    assert len(shown["user_name"]) <= 250
    assert shown["until"] == "2026-11-24 00:30 UTC"


@with_each(
    ("changed", "fault"),
    [
        ({"MAIL__FROM": ""}, "mail.from: is missing"),
        ({"SERVER__PUBLIC_URL": ""}, "server.public_url: is missing"),
        ({"DATABASE_URL": "x", "AUTH__FACTOR_KEY": ""}, "auth.factor_key: is missing"),
        ({"MAIL__URL": "http://mail.example.com"}, "mail.url: must be smtp://"),
        ({"MAIL__URL": "smtp://eve:secret@mail.example.com"}, "mail.url: must be smtp://"),
        ({"MAIL__URL": "smtps://mail.example.com/path"}, "mail.url: must be smtp://"),
        ({"MAIL__URL": "smtps://mail.example.com:0"}, "mail.url: must be smtp://"),
        ({"MAIL__URL": "smtps://mail.example.com\r\nQUIT"}, "mail.url: must not hold line breaks"),
        ({"MAIL__FROM": "heron@example.com\nBcc: x@example.com"}, "mail.from: must not hold line breaks"),
        ({"MAIL__FROM": "Heron <heron@example.com>"}, "mail.from: must be an ASCII email address"),
        ({"MAIL__FROM": "réno@example.com"}, "mail.from: must be an ASCII email address"),
        ({"MAIL__USER": "portcullis"}, "mail.password: is missing"),
        ({"MAIL__PASSWORD": "secret"}, "mail.user: is missing"),
        ({"MAIL__CA_FILE": "/nowhere/ca.pem"}, "mail.ca_file: is not an existing file"),
        (
            {"MAIL__URL": "smtp://mail.example.com", "MAIL__USER": "u", "MAIL__PASSWORD": "p4ss"},
            "mail.url: must be smtps:// or smtp+starttls://: mail.password would be sent in clear",
        ),
    ],
)
def test_settings_with_which_no_mail_can_be_sent_safely_end_the_start(
    changed: dict[str, str], fault: str
) -> None:
    external = {
        "DATABASE_URL": "postgresql://127.0.0.1/x",
        "JWT_SECRET": "Zk3xPq8vN2mLr7TbYw5JcUe9HsGd4fAaQ6oXiKtVnRzB1CyEu0",
    }
    settings = {f"PORTCULLIS_{name}": value for name, value in changed.items() if name != "DATABASE_URL"}
    environ = MAILING | settings | (external if "DATABASE_URL" in changed else {})
    with pytest.raises(SettingsError) as refused:
        load(environ)
    assert fault in str(refused.value)
    assert not {"secret", "p4ss"} & set(str(refused.value).split())


@with_each(
    ("url", "server"),
    [
        ("smtp://mail.example.com", ("smtp", "mail.example.com", 25)),
        ("smtp+starttls://mail.example.com", ("smtp+starttls", "mail.example.com", 587)),
        ("smtps://[2001:db8::1]", ("smtps", "2001:db8::1", 465)),
        ("smtps://mail.example.com:4650", ("smtps", "mail.example.com", 4650)),
    ],
)
def test_the_scheme_says_the_port_unless_the_url_does(url: str, server: tuple[str, str, int]) -> None:
    assert mailing(MAIL__URL=url).mail.server == server


def test_a_login_in_clear_is_for_the_own_machine_only() -> None:
    variables = {"MAIL__URL": "smtp://127.0.0.1:25", "MAIL__USER": "u", "MAIL__PASSWORD": "p4ss"}
    assert "p4ss" not in repr(mailing(**variables))
