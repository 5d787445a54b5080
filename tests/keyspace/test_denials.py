"""Closing sessions, deny markers and bans."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from service.keyspace import SessionStore
from service.settings import Auth
from tests.keyspace.conftest import OpenSession, Raw, plain


async def marked_at(raw: Raw, login_id: str = "1") -> float:
    return float((await raw.get(f"auth:deny:{login_id}")).removeprefix("refresh:"))


async def test_closing_a_device_ends_it_alone_and_marks_the_user(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(device="web", rid="a")
    other = await open_session(device="ios", rid="b")

    assert await store.close_session("1", "web")
    assert list(await store.sessions("1")) == ["ios"]
    assert await marked_at(raw) >= other.issued / 1000


async def test_closing_a_device_that_is_not_there_changes_nothing(store: SessionStore, raw: Raw) -> None:
    assert not await store.close_session("1", "web")
    assert await raw.keys("*") == []


async def test_closing_everything_leaves_the_device_to_keep(
    open_session: OpenSession, store: SessionStore
) -> None:
    for number, device in enumerate(("web", "ios", "tablet")):
        await open_session(device=device, rid=f"rid-{number}")

    assert await store.close_sessions("1", keep="ios") == 2
    assert list(await store.sessions("1")) == ["ios"]


async def test_closing_everything_keeps_no_session_that_has_replaced_the_one_to_keep(
    open_session: OpenSession, store: SessionStore
) -> None:
    asking = await open_session(rid="a")
    assert await store.close_sessions("1", keep="web", opened_by=asking.issued / 1000) == 0
    await open_session(rid="b")

    assert await store.close_sessions("1", keep="web", opened_by=asking.issued / 1000) == 1
    assert await store.sessions("1") == {}


async def test_closing_everything_marks_even_a_user_without_a_session(store: SessionStore, raw: Raw) -> None:
    """A login may be under way that has verified the old password."""
    assert await store.close_sessions("1") == 0
    assert await marked_at(raw) > 0


async def test_a_late_logout_leaves_the_session_of_a_newer_login(
    open_session: OpenSession, store: SessionStore
) -> None:
    first = await open_session(rid="a")
    await open_session(rid="b")

    assert not await store.close_session("1", "web", opened_by=first.issued / 1000)
    assert plain((await store.sessions("1"))["web"].rid) == "b"


async def test_kicking_login_id_1_leaves_10_alone(open_session: OpenSession, store: SessionStore) -> None:
    for login_id in ("1", "10", "11"):
        await open_session(login_id, "web", f"rid-{login_id}")
    await store.close_sessions("1")

    assert list(await store.sessions("10")) == ["web"]
    assert (await store.check("10", "web"))[0] is None
    assert (await store.online.page()).total == 2


async def test_no_device_name_is_a_pattern(open_session: OpenSession, store: SessionStore) -> None:
    await open_session(device="web")

    for device in ("*", "?", "[a-z]", "w*", "web\x00", "WEB"):
        assert not await store.close_session("1", device)
    assert list(await store.sessions("1")) == ["web"]


async def test_a_marker_covers_every_token_issued_until_it(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    for number in range(100):  # faster than the clock's milliseconds
        opening = await open_session(rid=f"rid-{number}")
        await store.mark(["1"])
        assert await marked_at(raw) >= opening.issued / 1000


async def test_a_marker_never_moves_back(store: SessionStore, raw: Raw) -> None:
    at = await store.clock() / 1000 + 0.9
    await raw.set("auth:deny:1", f"refresh:{at:.3f}")
    await store.mark(["1"])
    assert await marked_at(raw) == pytest.approx(at, abs=0.00001)
    await store.close_sessions("1")
    assert at < await marked_at(raw) < at + 0.00001


async def test_each_mark_gives_a_user_a_marker_with_another_text(store: SessionStore) -> None:
    """A login that has seen one must notice the next, even in the same millisecond."""
    seen = []
    for _ in range(200):
        await store.mark(["1"])
        seen.append(await store.marker_of("1"))

    assert len(set(seen)) == len(seen)


async def test_parallel_markers_never_move_back(store: SessionStore, raw: Raw) -> None:
    seen: list[float] = []

    async def watch() -> None:
        for _ in range(300):
            await store.mark(["1"])
            seen.append(await marked_at(raw))

    await asyncio.gather(watch(), *(store.mark(["1"]) for _ in range(300)))

    assert seen == sorted(seen)


async def test_a_marker_outlives_every_token_that_it_stops(
    open_session: OpenSession, store: SessionStore, raw: Raw, auth: Auth
) -> None:
    await open_session()
    await store.mark(["1"])

    assert await raw.ttl("auth:deny:1") >= max(auth.access_timeout, auth.refresh_timeout)


async def test_only_users_with_a_session_get_a_long_marker(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session("1")

    assert await store.mark(["1", "2"]) == 1
    assert await raw.ttl("auth:deny:2") <= 60


async def test_a_short_marker_never_shortens_a_long_one(
    open_session: OpenSession, store: SessionStore, raw: Raw, auth: Auth
) -> None:
    await open_session()
    await store.close_sessions("1")
    await store.mark(["1"])

    assert await raw.ttl("auth:deny:1") > auth.access_timeout


async def test_thousands_of_users_are_marked_in_batches(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session("1700")

    assert await store.mark(str(number) for number in range(1, 1801)) == 1
    assert len(await raw.keys("auth:deny:*")) == 1800


async def test_a_ban_ends_all_sessions_and_says_until_when(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(device="web", rid="a")
    await open_session(device="ios", rid="b")
    until = await store.clock() + 60_000
    ended = await store.ban("1", until, "spam")
    ban = await store.ban_of("1")

    assert ended == 2
    assert await raw.get("auth:deny:1") == "banned"
    assert await raw.pexpiretime("auth:deny:1") == until
    assert ban is not None
    assert (ban.until, ban.note.reason) == (until, "spam")
    assert await store.sessions("1") == {}


async def test_a_ban_without_an_end_stays(store: SessionStore, raw: Raw) -> None:
    assert await store.ban("1", None, "") == 0
    assert await raw.ttl("auth:deny:1") == -1


async def test_nothing_overwrites_a_ban(open_session: OpenSession, store: SessionStore, raw: Raw) -> None:
    await store.ban("1", None, "")
    await store.mark(["1"])
    await store.close_sessions("1")
    await store.close_session("1", "web")
    await open_session()

    assert await raw.get("auth:deny:1") == "banned"
    assert await raw.ttl("auth:deny:1") == -1


async def test_a_repeated_ban_lasts_as_long_as_the_last_word_says(store: SessionStore) -> None:
    now = await store.clock()
    for until in (now + 600_000, None, now + 60_000):
        await store.ban("1", until, "")
        ban = await store.ban_of("1")
        assert ban is not None
        assert (ban.until, ban.note.cached) == (until, True)


async def test_a_longer_ban_by_other_hands_is_neither_shortened_nor_cleared_with_the_others(
    store: SessionStore, raw: Raw
) -> None:
    await raw.set("auth:deny:1", "banned")
    await store.ban("1", await store.clock() + 60_000, "")

    assert await raw.ttl("auth:deny:1") == -1
    assert not await store.unban("1")
    assert await store.unban("1", all_bans=True)
    assert await store.ban_of("1") is None


async def test_unbanning_clears_a_ban_and_nothing_else(store: SessionStore, raw: Raw) -> None:
    await store.ban("1", await store.clock() + 60_000, "spam")

    assert await store.unban("1")
    assert await store.ban_of("1") is None
    assert {*await raw.keys("auth:*")} - {"auth:revocations"} == {"auth:rights"}
    await store.mark(["1"])
    assert not await store.unban("1")
    assert await marked_at(raw) > 0


async def test_a_ban_that_raced_a_login_leaves_no_session(
    open_session: OpenSession, store: SessionStore
) -> None:
    for number in range(100):
        race = [open_session(rid=f"rid-{number}"), store.ban("1", None, "")]
        if number % 2:
            race.reverse()
        await asyncio.gather(*race)
        assert await store.sessions("1") == {}
        await store.unban("1")


async def test_a_ban_set_by_other_hands_counts(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await raw.set("auth:deny:1", "banned")
    ban = await store.ban_of("1")

    assert ban is not None
    assert (ban.until, ban.note.reason) == (None, "")
    assert (await open_session()).outcome == "banned"


async def test_whatever_ends_the_epoch_of_a_user_replaces_that_of_all_rights(
    store: SessionStore, raw: Raw, kind: str
) -> None:
    """On a cluster not the end of sessions: nobody's rights change by it, and other servers may be away."""
    steps: list[Callable[[], Awaitable[object]]] = [
        lambda: store.mark(["1", "2"]),
        lambda: store.ban("1", None, ""),
        lambda: store.unban("1"),
        lambda: store.unban("1"),
        *((lambda: store.close_sessions("1"),) if kind != "cluster" else ()),
    ]
    seen = set()
    for step in steps:
        await store.rights_epoch("1", "epoch")
        await step()
        epoch = (await store.check_rights("1")).all_rights
        assert await raw.get("auth:rights:1") is None
        assert epoch is not None
        assert epoch not in seen
        assert await raw.ttl("auth:rights") > 0
        seen.add(epoch)


async def test_the_epoch_of_all_rights_is_begun_only_where_there_is_none(store: SessionStore) -> None:
    assert (await store.check_rights("1")).all_rights is None
    for new in ("first", "second"):
        await store.begin_all_rights(new)
        assert (await store.check("1", "web")).all_rights == b"first"


async def test_no_epoch_of_all_rights_returns_where_changes_were_lost(store: SessionStore, raw: Raw) -> None:
    """As after a failover to a replica that lacks the latest changes."""
    epochs = []
    for _ in range(2):
        await raw.set("auth:rights", "before")
        await store.mark(["1"])
        epochs.append((await store.check_rights("1")).all_rights)
    assert epochs[0] != epochs[1]
