"""Whatever ends tokens is told in a list, in the same step."""

import pytest

from service.keyspace import SessionStore
from service.keyspace.following import Revocation
from tests.keyspace.conftest import OpenSession, Raw


async def kinds(store: SessionStore, place: str) -> list[tuple[str, str]]:
    """Return what was told behind a place: the kind, and the session or the users."""
    entries = (await store.revocations.behind(place)).entries
    return [(each.kind, " ".join(part.split(":")[0] for part in each.text.split(" "))) for each in entries]


@pytest.mark.usefixtures("one_server")
async def test_each_mark_and_each_end_of_a_session_is_told(
    store: SessionStore, open_session: OpenSession
) -> None:
    start = (await store.revocations.behind(None)).place
    web = await open_session("1", "web", "a")
    phone = await open_session("1", "phone", "b")
    assert await kinds(store, start) == []
    again = await open_session("1", "web", "c")
    assert await kinds(store, start) == [("ended", web.sid)]
    place = (await store.revocations.behind(start)).place
    await store.mark(["1", "2", "3"])
    assert await kinds(store, place) == [("marked", "1 2 3")]
    place = (await store.revocations.behind(place)).place
    await store.close_session("1", "web")
    assert sorted(await kinds(store, place)) == [("ended", again.sid), ("marked", "1")]
    place = (await store.revocations.behind(place)).place
    await store.ban("1", None, "test")
    assert await kinds(store, place) == [("ended", phone.sid)]


@pytest.mark.usefixtures("one_server")
async def test_a_mark_is_told_with_the_time_that_it_has(
    store: SessionStore, raw: Raw, open_session: OpenSession
) -> None:
    place = (await store.revocations.behind(None)).place
    await open_session("7", "web", "a")
    await store.close_sessions("7")
    marker = float((await raw.get("auth:deny:7")).removeprefix("refresh:"))
    assert (
        Revocation("marked", f"7:{round(1000 * marker)}") in (await store.revocations.behind(place)).entries
    )


@pytest.mark.usefixtures("one_server")
async def test_a_place_that_is_not_in_the_list_is_told_as_incomplete(store: SessionStore, raw: Raw) -> None:
    first = await store.revocations.behind(None)
    for number in range(1, 6):
        await store.mark([str(number)])
    part = await store.revocations.behind(first.place, 2)
    assert (len(part.entries), part.more, part.complete) == (2, True, True)
    whole = await store.revocations.behind(first.place)
    assert (len(whole.entries), whole.more) == (5, False)
    assert (
        (await store.revocations.behind(whole.place)).place == whole.place == await store.revocations.last()
    )
    await raw.xtrim("auth:revocations", maxlen=2, approximate=False)
    lost = await store.revocations.behind(first.place)
    assert (lost.complete, len(lost.entries)) == (False, 2)
    assert lost.whole_since > first.whole_since
    assert (await store.revocations.behind(whole.place)).complete
    await raw.delete("auth:revocations")
    anew = await store.revocations.behind(whole.place)
    assert (anew.complete, anew.entries) == (False, [])
    ahead = await store.revocations.behind("99999999999999-0")
    assert not ahead.complete
