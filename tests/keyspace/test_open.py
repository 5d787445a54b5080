"""Opening device sessions."""

import asyncio
import json
from dataclasses import replace

import pytest

from service.keyspace import SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import OpenSession, Raw, plain


async def test_an_opened_session_has_the_three_entries_of_the_contract(
    open_session: OpenSession, raw: Raw
) -> None:
    opening = await open_session("7", "web", "the-rid")

    session = json.loads(await raw.get("auth:device:7:web"))
    assert plain(session["rid"]) == "the-rid"
    assert session["login_time"] == opening.issued / 1000
    assert session["login_ip"] == "10.0.0.1"
    assert session["user_agent"] == "agent"
    assert await raw.get("auth:refresh:the-rid") == "7:web"
    assert await raw.get("auth:deny:7") is None


async def test_the_entries_live_as_long_as_a_refresh_token(
    open_session: OpenSession, raw: Raw, auth: Auth
) -> None:
    opening = await open_session("7", "web", "the-rid")

    assert opening.ends - opening.issued == 1000 * auth.refresh_timeout
    assert await raw.pexpiretime("auth:device:7:web") == opening.ends
    assert await raw.pexpiretime("auth:refresh:the-rid") == opening.ends


async def test_no_entry_outlives_the_longest_age_of_a_session(redis_url: str) -> None:
    async with SessionStore(Redis(url=redis_url), Auth(session_max_age=60)) as store:
        facts = SessionFacts("ann", "Ann", "", "", "", "")
        opening = await store.open_session("1", "web", "rid", facts, seen=b"")

    assert opening.ends - opening.issued == 60_000


async def test_every_key_starts_with_auth_and_runs_out_by_itself(open_session: OpenSession, raw: Raw) -> None:
    await open_session()

    names = await raw.keys("*")
    assert all(name.startswith("auth:") for name in names)
    assert [name for name in names if await raw.pttl(name) <= 0] == []


async def test_a_login_on_the_same_device_replaces_the_session(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(rid="first")
    opening = await open_session(rid="second")

    assert opening.ended == ("web",)
    assert [plain(session.rid) for session in (await store.sessions("1")).values()] == ["second"]
    assert await raw.get("auth:refresh:first") is None


async def test_a_replacing_session_opens_after_every_token_of_the_replaced_one(
    open_session: OpenSession,
) -> None:
    moments = [(await open_session(rid=f"rid-{number}")).issued for number in range(50)]

    assert moments == sorted(set(moments))


async def test_one_login_too_many_ends_the_earliest_session(
    open_session: OpenSession, store: SessionStore, auth: Auth
) -> None:
    for number in range(auth.max_devices + 1):
        opening = await open_session(device=f"d{number}", rid=f"rid-{number}")

    assert opening.ended == ("d0",)
    assert sorted(await store.sessions("1")) == ["d1", "d2", "d3", "d4", "d5"]


async def test_without_concurrent_login_all_other_sessions_end(redis_url: str) -> None:
    async with SessionStore(Redis(url=redis_url), Auth(concurrent_login=False)) as store:
        facts = SessionFacts("ann", "Ann", "", "", "", "")
        await store.open_session("1", "web", "a", facts, seen=b"")
        opening = await store.open_session("1", "ios", "b", facts, seen=b"")
        left = await store.sessions("1")

    assert opening.ended == ("web",)
    assert list(left) == ["ios"]


async def test_twenty_parallel_logins_leave_the_latest_of_as_many_devices_as_allowed(
    open_session: OpenSession, store: SessionStore, raw: Raw, auth: Auth
) -> None:
    openings = await asyncio.gather(
        *(open_session(device=f"d{number}", rid=f"rid-{number}") for number in range(20))
    )

    by_time = sorted(range(20), key=lambda number: openings[number].issued)
    latest = sorted(f"d{number}" for number in by_time[-auth.max_devices :])
    assert sorted(await store.sessions("1")) == latest
    assert len(await raw.keys("auth:refresh:*")) == auth.max_devices


async def test_users_do_not_touch_each_other(open_session: OpenSession, store: SessionStore) -> None:
    await open_session("1", "web", "a")
    await open_session("10", "web", "b")
    await open_session("1", "web", "c")

    assert plain((await store.sessions("10"))["web"].rid) == "b"


async def test_a_login_that_read_the_user_before_the_mark_is_stale(store: SessionStore) -> None:
    seen = await store.marker_of("1")
    await store.mark(["1"])
    facts = SessionFacts("ann", "Ann", "", "", "", "")
    opening = await store.open_session("1", "web", "rid", facts, seen=seen)

    assert opening.outcome == "stale"
    assert await store.sessions("1") == {}


async def test_a_banned_user_opens_no_session(open_session: OpenSession, store: SessionStore) -> None:
    until = await store.clock() + 60_000
    await store.ban("1", until, "spam")
    opening = await open_session()

    assert (opening.outcome, opening.until) == ("banned", until)
    assert await store.sessions("1") == {}


async def test_a_session_that_the_index_has_lost_is_replaced_all_the_same(
    open_session: OpenSession, raw: Raw
) -> None:
    await open_session(rid="first")
    await raw.delete("auth:devices:1")
    await open_session(rid="second")

    assert await raw.get("auth:refresh:first") is None


async def test_scripts_are_sent_again_to_a_store_that_has_forgotten_them(
    open_session: OpenSession, raw: Raw
) -> None:
    await open_session()
    await raw.script_flush()
    opening = await open_session()

    assert opening.outcome == "opened"


@pytest.mark.parametrize("text", ['"', "\\", "日本語", "\x00", "{}[]:,", "\r\n*1\r\n$8\r\nFLUSHALL\r\n"])
async def test_no_text_of_a_client_confuses_the_store(store: SessionStore, text: str) -> None:
    facts = SessionFacts(text, text, text, text, text, text)
    await store.open_session("1", "web", "rid", facts, seen=b"")
    session = (await store.sessions("1"))["web"]

    assert (session.user_name, session.login_ip, session.user_agent) == (text, text, text)
    assert (await store.online.page(user_name=text, login_ip=text)).total == 1


async def test_lives_follow_the_settings(redis_url: str, auth: Auth) -> None:
    async with SessionStore(Redis(url=redis_url), replace(auth, refresh_timeout=120)) as store:
        facts = SessionFacts("ann", "Ann", "", "", "", "")
        opening = await store.open_session("1", "web", "rid", facts, seen=b"")

    assert opening.ends - opening.issued == 120_000
