"""Whatever somebody writes to the database: no worker decides by it, and it leaves a trace."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import pytest
from msgspec import structs
from psycopg.types.json import Jsonb
from sqlalchemy import text
from structlog.testing import capture_logs

from service.audit.seals import RevisionSeals
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.derive import digest_of, lines_digest_of
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError
from service.authz.publishing.publisher import derived_policy, drift, publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.authz.publishing.watch import PolicyWatch
from service.errors import Unavailable
from service.features.audit_proof.verification import audit_revisions
from service.keyspace import Announcement, RevisionCheckpoint
from service.records import menus
from service.records.database.transactions import Database
from service.records.published import policy_revisions, policy_workers
from service.records.published.policy_revisions import PolicyRevision
from service.records.published.policy_workers import NodeFacts

SHIPPED = read_shipped()
KEY: Final = "a key that only the service has, and an auditor"
NEXT_KEY: Final = "the key that follows it, on one node after the other"
OPENED: Final = Rule("resource", "GET /api/user/list", "@anyone")


class SharedMetrics(AnnouncedRevision):
    """What the session store keeps, in memory."""

    def __init__(self) -> None:
        self.announced: int | None = None
        self.checkpoint: RevisionCheckpoint | None = None

    async def announce(self, revision: int) -> None:
        """Announce, as ``RevisionKey`` does."""
        self.announced = max(revision, self.announced or 0)

    async def read(self) -> Announcement:
        """Return what was announced, and the witness."""
        announced = None if self.announced is None else b"%d:" % self.announced
        return Announcement({"": announced}, self.checkpoint)

    async def keep(self, known: int, _announced: Announcement, _newest: int) -> None:
        """Raise the announcement."""
        await self.announce(known)

    async def anchor(self, checkpoint: RevisionCheckpoint) -> bool:
        """Raise the witness."""
        if self.checkpoint is not None and self.checkpoint.revision >= checkpoint.revision:
            return False
        self.checkpoint = checkpoint
        return True


class Worker:
    """A worker that looks only when it is told to; ``mends`` says whether it publishes what is stored."""

    def __init__(
        self, database: Database, board: SharedMetrics, *keys: str, name: str = "a:1", mends: bool = True
    ) -> None:
        self.seals = RevisionSeals(*keys)
        self.live = LivePolicy(SHIPPED, self.seals)
        self.changes = PolicyChanges(database, self.live, SHIPPED, lambda: SHIPPED, board.announce)
        self.watch = PolicyWatch(
            self.live,
            database,
            _silence,
            board,
            name,
            token_life=7200,
            mend=self.changes.mend if mends else None,
            facts=lambda: NodeFacts(version="", settings={}, parts={}, seal_keys=self.seals.key_ids),
        )

    async def look(self, times: int = 3) -> None:
        """Look so often that whatever has to follow from what is found has followed."""
        for _ in range(times):
            await self.watch.look()

    @property
    def policy(self) -> Policy:
        return self.live.current


async def _silence() -> AsyncGenerator[str, None]:
    await asyncio.Event().wait()
    yield ""


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url, timeout=60.0) as opened:
        yield opened


async def start(database: Database, *keys: str) -> Policy:
    """Publish as a start does."""
    async with database.transaction(within=30) as connection:
        return await publish_if_changed(connection, SHIPPED, RevisionSeals(*keys), "start", anew=True)


async def execute(database: Database, *statements: str, **values: object) -> None:
    async with database.transaction() as connection:
        for statement in statements:
            await connection.execute(text(statement), values)


async def row(database: Database, revision: int | None = None) -> PolicyRevision:
    async with database.snapshot() as connection:
        number = 0 if revision is None else revision
        stored = await (
            policy_revisions.latest(connection) if not number else policy_revisions.read(connection, number)
        )
    assert stored is not None
    return stored


def enabled(state: bool) -> str:
    return f"UPDATE sys.resource SET enabled = {state} WHERE path = '/api/user/list'"


@pytest.fixture
async def board() -> SharedMetrics:
    return SharedMetrics()


@pytest.fixture
async def worker(database: Database, board: SharedMetrics) -> Worker:
    """A worker with the key, by which revision 2 is in force; revision 1 had a resource disabled."""
    await execute(database, enabled(False))
    await start(database, KEY)
    started = Worker(database, board, KEY)
    await started.look()
    await execute(database, enabled(True))
    await started.changes.reload("enabled again")
    await started.look()
    assert (started.policy.revision, started.watch.fault) == (2, None)
    assert (await row(database)).sealed_from == 1
    return started


_FORGED_LINES: Final = (
    "DELETE FROM sys.casbin_rule WHERE v0 = 'resource' AND v1 = :object",
    "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2) VALUES ('p', 'resource', :object, :code)",
    "UPDATE sys.policy_line SET until = :number WHERE object = :object AND until IS NULL",
    "INSERT INTO sys.policy_line (layer, object, code, since) VALUES ('resource', :object, :code, :number)",
)
_FORGED_REVISION: Final = """
INSERT INTO sys.policy_revision
    (revision, digest, line_count, cause, added, removed, lines_digest, prior_revision, seals, sealed_from)
SELECT :number, :digest, :count, 'start', 1, 1, :lines_digest, :prior, {seals}, {sealed_from}
FROM sys.policy_revision WHERE revision = :prior
"""


async def forge(database: Database, *, seals: str = "NULL", sealed_from: str = "NULL") -> None:
    """Publish ``OPENED`` as the next revision, with all that anybody can compute."""
    async with database.transaction() as connection:
        bits = await menus.permission_bits(connection)
        selected = await connection.execute(text("SELECT v0, v1, v2 FROM sys.casbin_rule WHERE ptype = 'p'"))
        lines = Lines().changed(
            {
                (layer, name): codes
                for layer, objects in Lines(Rule(*columns) for columns in selected).by_object.items()
                for name, codes in objects.items()
            }
        )
        forged = lines.changed({("resource", OPENED.object): (OPENED.code,)})
        latest = await policy_revisions.latest(connection)
        assert latest is not None
        values = {
            "number": latest.revision + 1,
            "digest": digest_of(forged, bits),
            "lines_digest": lines_digest_of(forged),
            "count": len(forged),
            "prior": latest.revision,
            "object": OPENED.object,
            "code": OPENED.code,
        }
        made = _FORGED_REVISION.format(seals=seals, sealed_from=sealed_from)
        for statement in (*_FORGED_LINES, made):
            await connection.execute(text(statement), values)


def is_open(policy: Policy) -> bool:
    """Tell whether the forged line decides."""
    return policy.judge("resource", OPENED.object, None).allowed


ERASED: Final = "UPDATE sys.policy_revision SET seals = NULL, sealed_from = NULL"


@pytest.mark.parametrize(
    ("seals", "sealed_from"),
    [
        ("NULL", "NULL"),
        ("seals", "sealed_from"),
        ("'[]'", "NULL"),
        ('\'{"00000000": "00"}\'', "NULL"),
        ('\'{"00000000": "00"}\'', "sealed_from"),
    ],
)
async def test_a_forged_revision_with_right_digests_decides_nowhere_and_is_replaced_at_once(
    database: Database, board: SharedMetrics, worker: Worker, seals: str, sealed_from: str
) -> None:
    before = worker.policy
    await forge(database, seals=seals, sealed_from=sealed_from)
    keeping = Worker(database, board, KEY, mends=False)
    await keeping.look()  # one that starts, and does not mend: it has nothing else to decide by
    assert not is_open(keeping.policy)
    assert keeping.policy.revision == 0
    assert keeping.watch.untrusted == 3

    await worker.watch.look()

    assert worker.policy.digest == before.digest
    assert not is_open(worker.policy)
    unknown = "00000000" in seals
    if not unknown:  # else others may use it: it is kept back, and replaced a little later
        made = await row(database)
        assert (worker.policy.revision, made.revision, made.prior_revision) == (4, 4, 2)
        # The line, the one that it has replaced, and the revision.
        assert made.tampered == 3
        assert made.cause.startswith("derived again: revision 3 was not published here: it")
        await worker.look()
        await keeping.look()
        assert keeping.policy.revision == 4
        assert (worker.watch.fault, worker.watch.untrusted) == (None, None)


async def test_a_worker_that_does_not_trust_the_newest_revision_keeps_its_own_and_says_so(
    database: Database, board: SharedMetrics
) -> None:
    await start(database, KEY)
    worker = Worker(database, board, KEY, mends=False)
    await worker.look()
    await forge(database)

    await worker.look()

    assert worker.policy.revision == 1
    fault = "revision 2 is not trusted: it has no seal, although every revision since 1 has one"
    assert worker.watch.fault == fault
    health = worker.watch.health()
    assert (health.state, health.details) == ("degraded", {"revision": 1, "fault": fault, "untrusted": 2})
    # Nobody announced it, so requests go on to be decided, by revision 1.
    assert (board.announced, worker.watch.lag) == (1, 0.0)
    # Who also has the session store may have published it in another way: then requests wait for it.
    await board.announce(2)
    await worker.look()
    assert worker.watch.lag > 0


TAMPERINGS: Final = {
    "user name": "UPDATE sys.policy_revision SET user_name = 'admin' WHERE revision = 2",
    "cause": "UPDATE sys.policy_revision SET cause = 'start' WHERE revision = 2",
    "time": "UPDATE sys.policy_revision SET create_time = create_time - interval '1 day' WHERE revision = 2",
    "trace": "UPDATE sys.policy_revision SET tampered = 7 WHERE revision = 2",
    "seal": "UPDATE sys.policy_revision now SET seals = before.seals FROM sys.policy_revision before"
    " WHERE now.revision = 2 AND before.revision = 1",
    "no seal": "UPDATE sys.policy_revision SET seals = NULL WHERE revision = 2",
    "digest": "UPDATE sys.policy_revision SET digest = repeat('0', 64) WHERE revision = 2",
    "all seals": ERASED,
    "deleted": "DELETE FROM sys.policy_revision WHERE revision = 2",
    "higher": "INSERT INTO sys.policy_revision (revision, digest, line_count, cause, seals, sealed_from)"
    " SELECT 9999, digest, line_count, cause, seals, sealed_from FROM sys.policy_revision WHERE revision = 2",
    "renumbered": "UPDATE sys.policy_revision SET revision = 3 WHERE revision = 2",
}


@pytest.mark.parametrize("statement", TAMPERINGS.values(), ids=TAMPERINGS.keys())
async def test_what_is_done_to_the_newest_revision_is_noticed_undone_and_leaves_a_trace(
    database: Database, board: SharedMetrics, worker: Worker, statement: str
) -> None:
    before = worker.policy
    await worker.watch._is_as_seen()  # nothing has changed: the cheap look sees it
    assert worker.watch._seen is not None
    await execute(database, statement)
    assert not await worker.watch._is_as_seen()

    with capture_logs() as logged:
        await worker.look()

    assert worker.policy.digest == before.digest
    assert worker.policy.revision > 2
    made = await row(database)
    assert made.revision == worker.policy.revision
    assert made.cause.startswith("derived again: ")
    assert worker.seals.judge(made).authenticity == "sealed"
    assert {(entry["log_level"], entry["event_type"]) for entry in logged if "newest" in entry} == {
        ("error", "security")
    }
    # A worker that starts now decides by the same.
    started = Worker(database, board, KEY)
    await started.look(1)
    assert (started.policy.revision, started.watch.fault) == (made.revision, None)


async def test_a_database_that_was_rolled_back_to_an_older_revision_is_noticed_by_a_worker_that_starts(
    database: Database, board: SharedMetrics, worker: Worker
) -> None:
    """All of revision 1 is put back, seals and lines included: nothing in the database tells."""
    right = worker.policy.digest
    await execute(
        database,
        "DELETE FROM sys.policy_revision WHERE revision = 2",
        "DELETE FROM sys.policy_line WHERE since = 2",
        "UPDATE sys.policy_line SET until = NULL WHERE until = 2",
        "DELETE FROM sys.casbin_rule",
        "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2)"
        " SELECT 'p', layer, object, code FROM sys.policy_line WHERE until IS NULL",
    )
    unaware = LivePolicy(SHIPPED, RevisionSeals(KEY))
    await unaware.load(database)
    assert unaware.current.digest != right

    started = Worker(database, board, KEY)
    await started.look(1)

    assert (started.policy.revision, started.policy.digest) == (3, right)
    assert (await row(database)).cause == (
        "derived again: the database has lost policy revisions that were in force"
    )


async def test_a_start_publishes_what_is_stored_whatever_the_newest_revision_says(
    database: Database, board: SharedMetrics, worker: Worker
) -> None:
    """Even without any seal, where nothing in the database speaks against the forged revision."""
    right = worker.policy
    await forge(database)
    await execute(database, ERASED)

    started = await start(database, KEY)

    assert (started.revision, started.digest) == (4, right.digest)
    made = await row(database)
    assert RevisionSeals(KEY).judge(made).authenticity == "sealed"
    assert (made.added, made.removed) == (1, 1)  # what it has put right shows among the changes
    assert board.checkpoint is not None
    audit = await audit_revisions(database, RevisionSeals(KEY), dict([board.checkpoint]))
    assert "revision 2 differs from the earlier report" in audit.faults


async def test_revisions_from_before_the_first_seal_stay_trusted_and_each_later_one_must_have_one(
    database: Database, board: SharedMetrics
) -> None:
    await start(database)
    keyless = await row(database)

    await start(database, KEY)

    sealed, seals = await row(database), RevisionSeals(KEY)
    assert (keyless.seals, sealed.revision, sealed.sealed_from, sealed.prior_revision) == (None, 2, 2, 1)
    worker = Worker(database, board, KEY)
    await worker.look()
    assert (worker.policy.revision, worker.watch.fault) == (2, None)
    async with database.snapshot() as connection:
        await seals.learn(connection)
    assert [seals.judge(revision).authenticity for revision in (keyless, sealed)] == ["unsealed", "sealed"]
    assert seals.judge(structs.replace(keyless, revision=3)).authenticity == "forged"


async def leave(database: Database, worker: str) -> None:
    async with database.transaction() as connection:
        await policy_workers.leave(connection, worker)


async def test_a_seal_is_demanded_only_once_all_workers_can_make_one(
    database: Database, board: SharedMetrics
) -> None:
    """Nodes of an older version, or without a key yet, serve beside those that seal."""
    await start(database)
    other = Worker(database, board, name="old:1")
    await other.look()
    await start(database, KEY)
    worker = Worker(database, board, KEY)
    await worker.look()
    assert ((await row(database)).revision, (await row(database)).sealed_from) == (2, None)
    # The other node follows what has a seal that it does not know, and publishes without one.
    await other.look()
    assert other.policy.revision == 2
    await execute(database, enabled(False))
    await other.changes.reload("by the other node")
    await worker.look()
    assert (worker.policy.revision, worker.watch.fault) == (3, None)

    await leave(database, "old:1")
    worker.watch._report_again = 0.0
    await worker.look()

    made = await row(database)
    assert (made.revision, made.sealed_from, made.tampered) == (4, 4, 0)
    assert made.cause == "each revision is sealed from here on"
    # Another one without a seal is replaced by what is stored, which is what the older version has published.
    await execute(
        database,
        enabled(True),
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause) VALUES (5, 'x', 1, 'other')",
    )
    await worker.look()
    made = await row(database)
    assert (made.revision, worker.seals.judge(made).authenticity) == (6, "sealed")
    assert worker.policy.revision == 6


async def test_a_node_without_the_key_decides_by_nothing_that_must_be_sealed_and_publishes_nothing(
    database: Database, board: SharedMetrics
) -> None:
    await start(database, KEY)
    await Worker(database, board, KEY).look()
    for keys in ((), (NEXT_KEY,)):
        other = Worker(database, board, *keys, name="b:1")
        await other.look()
        assert other.policy.revision == 0
        assert other.watch.fault == (
            "revision 1 is not trusted: it must be sealed with a key that is not configured here: "
            "set oplog.chain_key or oplog.chain_previous_key"
        )
        async with database.transaction(within=30) as connection:
            with pytest.raises(UntrustedRevisionError, match="a key that is not configured here"):
                await publish_if_changed(connection, SHIPPED, other.seals, "by a command")
        with pytest.raises(Unavailable, match="a key that is not configured here"):
            await other.changes.reload("by a request")
    assert (await row(database)).revision == 1


async def test_a_key_is_replaced_on_one_node_after_the_other(
    database: Database, board: SharedMetrics
) -> None:
    await start(database, KEY)
    first, second = Worker(database, board, KEY), Worker(database, board, KEY, name="b:1")
    await first.look()
    await second.look()

    await start(database, NEXT_KEY, KEY)
    first = Worker(database, board, NEXT_KEY, KEY)
    await first.look()
    for state, by, other in ((False, first, second), (True, second, first)):
        await execute(database, enabled(state))
        await by.changes.reload("by one of them")
        await other.look()
        assert (other.policy.revision, other.watch.fault) == (by.policy.revision, None)

    # The start of the last node seals what only the former key has sealed; then that one can go.
    async with database.transaction(within=30) as connection:
        assert await RevisionSeals(NEXT_KEY, KEY).renew(connection) == 2
        assert await RevisionSeals(NEXT_KEY, KEY).renew(connection) == 0
    second = Worker(database, board, NEXT_KEY, name="b:1")
    await second.look()
    await first.look()
    assert (second.policy.revision, second.watch.fault, first.watch.fault) == (3, None, None)
    audit = await audit_revisions(database, RevisionSeals(NEXT_KEY), {})
    assert (audit.count, audit.unsealed, audit.faults) == (3, 0, ())


async def test_a_key_that_was_stolen_can_not_seal_once_it_is_removed(
    database: Database, board: SharedMetrics
) -> None:
    await start(database, KEY)
    await start(database, NEXT_KEY, KEY)
    async with database.transaction() as connection:
        await RevisionSeals(NEXT_KEY, KEY).renew(connection)
    worker = Worker(database, board, NEXT_KEY)
    await worker.look()

    await forge(database)
    stolen = RevisionSeals(KEY).made_for(await row(database))
    await execute(
        database, "UPDATE sys.policy_revision SET seals = :seals WHERE revision = 2", seals=Jsonb(stolen)
    )
    keeping = Worker(database, board, NEXT_KEY, name="c:1", mends=False)
    await keeping.look()

    assert keeping.watch.fault == (
        "revision 2 is not trusted: it must be sealed with a key that is not configured here: set "
        "oplog.chain_key or oplog.chain_previous_key"
    )
    assert keeping.policy.revision == 0


async def test_without_a_key_lines_and_digests_that_history_does_not_have_decide_nowhere(
    database: Database, board: SharedMetrics
) -> None:
    right = await start(database)
    worker = Worker(database, board)
    await worker.look()
    await forge(database)
    await execute(
        database,
        "DELETE FROM sys.policy_line WHERE since = 2",
        "UPDATE sys.policy_line SET until = NULL WHERE until = 2",
        "UPDATE sys.policy_revision SET added = NULL WHERE revision = 2",
    )

    await worker.look()

    assert (worker.policy.revision, worker.policy.digest) == (3, right.digest)
    assert (await row(database)).tampered == 2


async def test_without_a_key_a_revision_that_is_forged_in_all_tables_decides_until_the_next_change(
    database: Database, board: SharedMetrics
) -> None:
    """As the page says: nothing but a key tells who has published."""
    right = await start(database)
    worker = Worker(database, board)
    await worker.look()
    await forge(database)
    await worker.look()
    assert is_open(worker.policy)
    async with database.snapshot() as connection:
        difference = await drift(connection, await derived_policy(connection, SHIPPED))
        assert "does not match the current resources, bindings and Buttons" in str(difference)

    await worker.changes.reload("the next change")

    made = await row(database)
    assert (worker.policy.digest, made.added, made.removed) == (right.digest, 1, 1)
