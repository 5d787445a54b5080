"""Mails are in the language and the time zone of their reader, and each language has the same texts."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec
import pytest

from service.features.access_requests.schema import STATES
from service.features.notices import letters
from service.features.notices.letters import (
    FORMS,
    Fact,
    Letter,
    Phrase,
    Reader,
    Texts,
    names_in,
    own_texts,
    text_of,
    texts_of,
)
from service.kernel.languages import FIRST, LANGUAGES, server_texts
from service.kernel.notify import ActedBy
from service.kernel.time_zones import zone_of
from service.records.database.transactions import Database
from tests.features.notices.mail.conftest import LINK, SITE, execute, outbox_of, rows
from tests.features.notices.mail.test_sending import at, sending
from tests.support.cases import with_each
from tests.support.mail_server import mail_server
from tests.support.seeded import create_user

UNTIL = datetime(2026, 11, 24, 16, 30, tzinfo=UTC)
WORDS = {
    *(f"by_{actor}" for actor in get_args(ActedBy)),
    *("unknown_address", "unknown_device", "no_roles", "no_end", "between"),
    *("factor_totp", "factor_passkey", "factor_recovery_codes"),
    *(f"state_{state}" for state in STATES if state != "pending"),
}
"""The words that notices use."""


def members(texts: Texts) -> dict[str, list[str]]:
    """Return the texts of a language by the path of each, with its paragraphs."""
    return {
        "subject": [texts.subject],
        "signed": [texts.signed],
        **{f"frames.{name}": part for name, part in texts.frames.items()},
        **{f"kinds.{name}": [words.subject, *words.paragraphs] for name, words in texts.kinds.items()},
        **{f"words.{name}": [word] for name, word in texts.words.items()},
    }


def faults(texts: Texts) -> Iterator[str]:
    """Yield the texts that a language lacks or does not need, and those with other placeholders."""
    needed, own = members(own_texts(FIRST)), members(texts)
    yield from (f"{path} is missing" for path in needed if not any(own.get(path, ())))
    yield from (f"{path} is unused" for path in own if path not in needed)
    for path in needed.keys() & own.keys():
        names, others = ({name for part in of[path] for name in names_in(part)} for of in (needed, own))
        if names != others and any(own[path]):
            yield f"{path} has other placeholders: {', '.join(sorted(names ^ others))}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shipped_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    assert list(faults(own_texts(language))) == []


def test_the_first_language_has_exactly_the_texts_that_mails_use() -> None:
    texts = own_texts(FIRST)
    assert texts.kinds.keys() == FORMS.keys()
    assert texts.frames.keys() == {form.frame for form in FORMS.values() if form.frame}
    assert texts.words.keys() == WORDS


@with_each(
    ("path", "value", "fault"),
    [
        (("kinds", "banned"), None, "kinds.banned is missing"),
        (("words", "no_end"), "", "words.no_end is missing"),
        (("signed",), "Replies are not read.", "signed has other placeholders: site"),
        (("kinds", "test", "subject"), "Test of {name}", "kinds.test has other placeholders: name"),
        (("words", "love"), "love", "words.love is unused"),
    ],
)
def test_a_missing_unused_or_different_text_is_a_fault(path: tuple[str, ...], value: Any, fault: str) -> None:
    changed = deepcopy(msgspec.json.decode(server_texts(FIRST, "mails.json")))
    *above, last = path
    part = changed
    for name in above:
        part = part[name]
    part[last] = value
    if value is None:
        del part[last]
    assert list(faults(msgspec.convert(changed, Texts))) == [fault]


def test_a_language_without_a_text_falls_back_to_the_first_one_by_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partial = b'{"signed": "Gesendet von {site}.", "words": {"no_roles": "keine"}}'
    monkeypatch.setattr(letters, "LANGUAGES", (*LANGUAGES, "xx"))
    monkeypatch.setattr(
        letters,
        "server_texts",
        lambda language, name: partial if language == "xx" else server_texts(language, name),
    )
    subject, text = text_of("test", {}, SITE, None, "xx")
    assert subject == "[admin.example.com] Test mail"
    assert text.endswith(f"It works.\n\nGesendet von {SITE}.\n")
    roles = Letter("test", "", None, {"role": Phrase("no_roles"), "end": Phrase("no_end")})
    assert roles.shown_facts(Reader("xx")) == {"role": "keine", "end": "further notice"}
    assert texts_of("tlh") == own_texts(FIRST)


@with_each(
    ("zone", "shown"),
    [
        (None, "2026-11-24 16:30 UTC"),
        ("UTC", "2026-11-24 16:30 UTC"),
        ("Asia/Shanghai", "2026-11-25 00:30 Asia/Shanghai (UTC+08:00)"),
        ("America/St_Johns", "2026-11-24 13:00 America/St_Johns (UTC-03:30)"),
        ("Europe/London", "2026-11-24 16:30 Europe/London (UTC+00:00)"),
        ("Europe/Atlantis", "2026-11-24 16:30 UTC"),
    ],
)
def test_a_time_names_the_zone_in_which_it_is_shown(zone: str | None, shown: str) -> None:
    letter = Letter("test", "", None, {"until": UNTIL})
    assert letter.shown_facts(Reader(FIRST, zone_of(zone))) == {"until": shown}


async def test_a_mail_is_in_the_language_and_the_zone_of_its_reader(seeded_database_url: str) -> None:
    async with Database(seeded_database_url, timeout=5.0) as database, mail_server() as server:
        async with database.transaction() as connection:
            chooser = await create_user(connection, "chooser", "x")
            other = await create_user(connection, "other", "x")
        choice = "language = 'zh-CN', time_zone = 'Asia/Shanghai'"
        await execute(database, f"UPDATE sys.user SET {choice} WHERE id = {chooser}")
        settings = at(server, MAIL__LANGUAGE="ZH-cn")
        for user, chosen in ((chooser, at(server)), (other, at(server)), (None, settings)):
            facts: dict[str, Fact] = {"user_name": "苍鹭", "until": UNTIL}
            letter = Letter("invitation", "heron@example.org", user, facts)
            async with database.transaction() as connection:
                await outbox_of(chosen).put(connection, letter, LINK)
        # A mail of a version without languages.
        await execute(database, f"UPDATE sys.mail SET language = NULL WHERE user_id = {other}")
        await sending(settings).run(database)
        languages = await rows(database, "language")

    assert [row["language"] for row in languages] == ["zh-CN", None, "zh-CN"]
    (_, chinese), (_, english), (_, default) = server.taken
    assert chinese["Subject"] == "[admin.example.com] 你的新账号"
    assert chinese["Content-Language"] == "zh-CN"
    assert "用户名为 苍鹭。" in chinese.get_content()
    assert "有效期至 2026-11-25 00:30 Asia/Shanghai (UTC+08:00)" in chinese.get_content()
    assert LINK in chinese.get_content().splitlines()
    assert english["Content-Language"] == "en"
    assert "until 2026-11-24 16:30 UTC:" in english.get_content()
    assert "有效期至 2026-11-24 16:30 UTC" in default.get_content()
    assert all(message.isascii() for message in server.raw)  # not every server takes 8-bit text
