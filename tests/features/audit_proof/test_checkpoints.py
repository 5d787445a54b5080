"""Entries that are gone are noticed without heads given by hand, unless a restore accounts for them."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from sqlalchemy import text

from service.audit.key_chain import Chain
from service.audit.seals import is_sealed, sealed
from service.features.audit_proof.checkpoints import AnchoredCheckpoint, stored_checkpoints
from service.features.audit_proof.lineage import lineage_of
from service.records.database.transactions import engine
from service.records.installation.restore_epochs import RecoveryPointHead, RestoreEpoch
from tests.audit.conftest import Place, operation
from tests.support.cases import with_each
from tests.support.running import Ended, portcullis

KEY = "a key that only the service has, and an auditor"
DAY = date(2026, 3, 15)
NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


async def write(place: Place, *numbers: int) -> None:
    """Write entries, as a worker that takes them from the stream."""
    async with place.journal("one", chain_key=KEY) as journal:
        for number in numbers:
            journal.collector.operation(operation(number, create_time=NOON))


def verified(place: Place, folder: Path, **variables: str) -> Ended:
    environ = {
        "DATABASE_URL": place.database_url,
        "REDIS_URL": place.redis_url,
        "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9",
        "PORTCULLIS_OPLOG__CHAIN_KEY": KEY,
    }
    return portcullis(folder, "audit", "verify", **(environ | variables))


def put_back(place: Place) -> None:
    """Put a copy of the logs back that was kept by ``keep``."""
    with engine(place.database_url).begin() as connection:
        for log in ("operation_log", "log_chain"):
            connection.execute(text(f"DELETE FROM sys.{log}"))
            connection.execute(text(f"INSERT INTO sys.{log} OVERRIDING SYSTEM VALUE TABLE kept_{log}"))


def keep(place: Place) -> None:
    with engine(place.database_url).begin() as connection:
        for log in ("operation_log", "log_chain"):
            connection.execute(text(f"CREATE TABLE kept_{log} AS TABLE sys.{log}"))


async def test_a_database_with_fewer_entries_than_were_written_is_found_also_once_it_has_more(
    place: Place, tmp_path: Path
) -> None:
    await write(place, 1, 2, 3)
    keep(place)
    await write(place, 4, 5)
    assert verified(place, tmp_path).status == 0

    put_back(place)
    ended = verified(place, tmp_path)
    assert ended.status == 1
    assert "it ends with number 3, but 5 entries were reported earlier" in ended.output

    await write(place, 6)
    await write(place, 7, 8, 9)
    ended = verified(place, tmp_path)
    assert ended.status == 1
    assert "number 5 or one before it differs from the earlier report" in ended.output


async def test_a_session_store_that_is_away_is_told_and_stops_no_audit(place: Place, tmp_path: Path) -> None:
    await write(place, 1)
    ended = verified(place, tmp_path, REDIS_URL="redis://127.0.0.1:1")
    assert (ended.status, "the session store is unavailable" in ended.output) == (0, True)


FIRST = RestoreEpoch(number=1, name="one", begin_time=NOON)
CUT = RestoreEpoch(
    number=2,
    name="two",
    begin_time=NOON,
    backup_id="b",
    snapshot_time=NOON,
    operator="ann",
    ended=("lost",),
    heads=(RecoveryPointHead("operation_log", DAY, "k", 3),),
)
CHAIN = Chain(KEY)


def checkpoint_of(restore_epoch: str, number: int, link: str = "aa") -> AnchoredCheckpoint:
    return AnchoredCheckpoint(restore_epoch, "operation_log", DAY, "k", number, link)


async def test_a_restore_accounts_for_what_came_after_its_backup_and_for_nothing_else() -> None:
    heads = [
        checkpoint_of("one", 3),
        checkpoint_of("one", 9, "bb"),
        checkpoint_of("lost", 4, "cc"),
        checkpoint_of("two", 5, "dd"),
    ]
    lineage = lineage_of([FIRST, sealed(CHAIN, CUT)], [CHAIN], heads)
    assert lineage.reported.hashes == {("operation_log", DAY, "k"): {3: "aa", 5: "dd"}}
    assert lineage.notes[1:] == ["operation_log 2026-03-15: 6 entries were lost by restore 2"]
    assert not lineage.faults


async def test_a_timeline_that_no_restore_has_ended_is_a_fault() -> None:
    lineage = lineage_of([FIRST, sealed(CHAIN, CUT)], [CHAIN], [checkpoint_of("elsewhere", 3)])
    assert lineage.faults == [
        "restore epoch elsewhere: 1 heads were reported from it, but it is not in this database"
    ]


@with_each(
    "forged",
    [
        {"heads": (RecoveryPointHead("operation_log", DAY, "k", 1),)},
        {"ended": ("lost", "elsewhere")},
        {"operator": "nobody"},
        {"seal": None},
    ],
)
async def test_the_record_of_a_restore_can_not_be_changed_without_the_key(forged: dict[str, object]) -> None:
    record = sealed(CHAIN, CUT)
    assert is_sealed([Chain("another key that is long enough"), CHAIN], record)
    changed = replace(record, **forged)  # type: ignore[arg-type]  # the fields of each case
    assert not is_sealed([CHAIN], changed)
    assert lineage_of([FIRST, changed], [CHAIN], []).faults == ["restore 2: its record was changed"]


async def test_what_the_store_keeps_is_read_whatever_else_is_in_it() -> None:
    kept = {"one operation_log 2026-03-15 k": "4 aa", " login_log 2026-03-15  lost": "2 bb", "odd": "x"}
    assert stored_checkpoints(kept) == [
        checkpoint_of("one", 4),
        AnchoredCheckpoint("", "login_log", DAY, "", 2, "bb"),
    ]
