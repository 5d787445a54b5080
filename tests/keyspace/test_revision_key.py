"""The announced policy revision."""

from service.keyspace import RevisionCheckpoint, SessionStore
from tests.keyspace.conftest import Raw
from tests.support.cases import with_each


async def test_an_announcement_never_lowers_the_revision(store: SessionStore) -> None:
    key = store.revision_key
    for revision in (9, 10, 2, 10, 9):
        await key.announce(revision)

    assert (await key.read(None)).revision == 10


async def test_what_is_missing_is_written_only_while_it_is_missing(store: SessionStore) -> None:
    key = store.revision_key
    missing = await key.read(None)
    assert await key.replace(missing, 4)
    assert not await key.replace(missing, 5)
    assert (await key.read(None)).revision == 4


async def test_two_announcements_of_one_number_differ(store: SessionStore) -> None:
    await store.revision_key.announce(5)
    first = await store.revision_key.read(None)
    await store.revision_key.announce(5)

    assert not await store.revision_key.replace(first, 4)
    assert (await store.revision_key.read(None)).revision == 5


async def test_a_withdrawal_that_comes_late_does_not_undo_the_announcement_of_a_lower_revision(
    store: SessionStore,
) -> None:
    await store.revision_key.announce(30)  # and rolled back: the database has 22
    seen = await store.revision_key.read(None)
    await store.revision_key.announce(23)

    assert not await store.revision_key.replace(seen, 22)
    assert (await store.revision_key.read(None)).revision == 30


async def test_a_revision_that_nobody_has_announced_anew_can_be_replaced(store: SessionStore) -> None:
    await store.revision_key.announce(5)
    seen = await store.revision_key.read(None)

    assert await store.revision_key.replace(seen, 4)
    assert (await store.revision_key.read(None)).revision == 4


@with_each("value", ["", "x", "-1:", "1.5:", "9" * 19])
async def test_a_value_that_can_not_be_read_says_no_revision(
    store: SessionStore, raw: Raw, value: str
) -> None:
    await raw.set("policy:revision", value)
    assert (await store.revision_key.read(None)).revision is None


async def test_there_is_no_revision_in_an_empty_store(store: SessionStore) -> None:
    assert (await store.revision_key.read(None)).revision is None


async def test_a_witness_of_a_timeline_never_goes_back(store: SessionStore) -> None:
    key = store.revision_key
    accepted = [
        await key.anchor("one", RevisionCheckpoint(revision, hash_))
        for revision, hash_ in ((9, "a"), (10, "b"), (10, "c"), (2, "d"))
    ]
    await key.anchor("another", RevisionCheckpoint(3, "e"))

    assert accepted == [True, True, False, False]
    assert [(await key.read(name)).checkpoint for name in ("one", "another", "none")] == [
        (10, "b"),
        (3, "e"),
        None,
    ]
    assert await key.checkpoints(["one", "another", "none"]) == {10: "b", 3: "e"}


@with_each("value", ["", "x", "-1 a", "1.5 a", "9" * 19])
async def test_a_witness_that_can_not_be_read_says_nothing(store: SessionStore, raw: Raw, value: str) -> None:
    await raw.set("policy:witness:one", value)
    assert (await store.revision_key.read("one")).checkpoint is None
