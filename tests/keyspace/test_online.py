"""The online list."""

import asyncio

import pytest

from service.keyspace import SessionStore
from tests.keyspace.conftest import OpenSession, Raw
from tests.support.cases import with_each


@pytest.fixture
async def crowd(open_session: OpenSession) -> None:
    """Users 1 to 25, the later the newer; every fifth on ios, every second from another address."""
    for number in range(1, 26):
        await open_session(
            str(number),
            "ios" if number % 5 == 0 else "web",
            f"rid-{number}",
            user_name=f"user{number}",
            login_ip=f"10.0.0.{number % 2}",
        )
        await asyncio.sleep(0.002)  # no two in the same millisecond


pages = pytest.mark.usefixtures("crowd")


@pages
async def test_pages_follow_each_other_newest_first_with_the_exact_total(store: SessionStore) -> None:
    fetched = [await store.online.page(number=number, size=10) for number in (1, 2, 3, 4)]

    assert [page.total for page in fetched] == [25] * 4
    assert [int(row.login_id) for page in fetched for row in page.rows] == list(range(25, 0, -1))


@pages
async def test_cursors_follow_each_other_to_the_end(store: SessionStore) -> None:
    seen: list[str] = []
    page = await store.online.page(size=10)
    seen += [row.login_id for row in page.rows]
    while page.next_cursor:
        page = await store.online.page(size=10, cursor=page.next_cursor)
        seen += [row.login_id for row in page.rows]

    assert [int(login_id) for login_id in seen] == list(range(25, 0, -1))


@pages
async def test_a_cursor_whose_session_has_gone_goes_on_where_it_was(store: SessionStore) -> None:
    first = await store.online.page(size=10)
    await store.close_sessions(first.rows[-1].login_id)
    await store.close_sessions(first.rows[0].login_id)
    second = await store.online.page(size=10, cursor=first.next_cursor)

    assert [int(row.login_id) for row in second.rows] == list(range(15, 5, -1))


@pages
async def test_new_logins_do_not_shift_what_a_cursor_shows(
    store: SessionStore, open_session: OpenSession
) -> None:
    first = await store.online.page(size=10)
    await open_session("99", "web", "rid-99")
    second = await store.online.page(size=10, cursor=first.next_cursor)

    assert [int(row.login_id) for row in second.rows] == list(range(15, 5, -1))


@pages
async def test_a_page_beyond_the_last_is_empty(store: SessionStore) -> None:
    for number in (4, 10**12, 10**30):
        page = await store.online.page(number=number, size=10)
        assert (page.total, page.rows, page.next_cursor) == (25, (), None)


@pages
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"user_name": "user7"}, [7]),
        ({"user_name": "user"}, []),
        ({"user_name": "*"}, []),
        ({"device": "ios"}, [25, 20, 15, 10, 5]),
        ({"login_ip": "10.0.0.0", "device": "ios"}, [20, 10]),
        ({"login_ip": "10.0.0.1", "device": "ios", "user_name": "user15"}, [15]),
        ({"login_ip": "10.0.0.1", "device": "tablet"}, []),
    ],
)
async def test_filters_are_exact_and_counted(
    store: SessionStore, raw: Raw, filters: dict[str, str], expected: list[int]
) -> None:
    page = await store.online.page(**filters)  # type: ignore[arg-type]  # by name

    assert [int(row.login_id) for row in page.rows] == expected
    assert page.total == len(expected)
    assert await raw.exists("auth:online:page") == 0


async def test_sessions_that_ran_out_are_neither_listed_nor_counted_and_then_dropped(
    store: SessionStore, open_session: OpenSession, raw: Raw
) -> None:
    for number in range(1, 6):
        await open_session(str(number), "web", f"rid-{number}")
    for number in range(6, 1506):  # ran out long ago, but nobody came by since
        await raw.zadd("auth:online", {f"{number}:web": number})
    page = await store.online.page(size=3)
    await store.online.page()

    assert (page.total, len(page.rows)) == (5, 3)
    assert await raw.zcard("auth:online") == 5


async def test_sessions_that_the_store_has_lost_are_dropped_and_the_page_filled(
    store: SessionStore, open_session: OpenSession, raw: Raw
) -> None:
    for number in range(1, 11):
        await open_session(str(number), "web", f"rid-{number}")
        await asyncio.sleep(0.002)
    await raw.delete("auth:device:10:web", "auth:device:9:web")
    page = await store.online.page(size=5)

    assert page.total == 8
    assert [row.login_id for row in page.rows] == ["8", "7", "6", "5", "4"]


async def test_a_session_that_ends_leaves_every_index(
    store: SessionStore, open_session: OpenSession, raw: Raw
) -> None:
    await open_session()
    await store.close_session("1", "web")

    assert await raw.keys("auth:online*") == []
    assert await raw.keys("auth:devices:*") == []


async def test_a_row_says_all_that_is_known(store: SessionStore, open_session: OpenSession) -> None:
    opening = await open_session("7", "web", "rid")
    (row,) = (await store.online.page()).rows

    assert (row.login_id, row.device) == ("7", "web")
    assert row.session.login_time == opening.issued / 1000
    assert (row.session.user_name, row.session.nick_name, row.session.browser) == ("ann", "Ann", "Browser 1")


@with_each("cursor", ["", "!", "AAAA", "MTIz", "YSBi", "MTIzIA==", "é"])
async def test_a_cursor_that_was_not_made_here_is_refused(store: SessionStore, cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        await store.online.page(cursor=cursor)


async def test_no_request_walks_the_keys(store: SessionStore, open_session: OpenSession, raw: Raw) -> None:
    await raw.config_resetstat()
    await open_session(rid="a")
    await store.rotate_session("1", "a", "b", user_name="", nick_name="", seen=b"")
    await store.online.page(user_name="ann", device="web")
    await store.close_sessions("1")
    await store.ban("1", None, "")
    commands = set(await raw.info("commandstats"))

    assert commands.isdisjoint({"cmdstat_keys", "cmdstat_scan", "cmdstat_randomkey"})


async def test_twenty_thousand_sessions_cost_a_page_no_more_commands_than_a_thousand(
    store: SessionStore, open_session: OpenSession, raw: Raw, kind: str
) -> None:
    """The work of a page, counted in the store's commands: it depends on the page, not on the crowd."""

    async def cost(crowd: int) -> list[int]:
        ends = 9_000_000_000_000
        for start in range(0, crowd, 10_000):
            names = range(start, min(start + 10_000, crowd))
            await raw.zadd("auth:online", {f"{name + 100}:web": ends - name for name in names})
            await raw.mset({f"auth:device:{name + 100}:web": "{}" for name in names})
        await open_session()
        await store.online.page()  # the store has the scripts
        await store.close_sessions("0")
        costs = []
        for work in (
            store.online.page(size=20),
            store.online.page(number=crowd // 20, size=20),
            store.close_sessions("1"),
        ):
            await raw.config_resetstat()
            await work
            stats = await raw.info("commandstats")
            costs.append(sum(stat["calls"] for name, stat in stats.items() if "config" not in name))
        return costs

    small, large = await cost(1_000), await cost(20_000)
    if kind == "cluster":  # where a page begins is found by halving
        assert all(many < 2 * few for few, many in zip(small, large, strict=True))
    else:
        assert small == large
