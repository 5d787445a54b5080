"""Logins and decisions are counted by hour when their batch is written."""

from datetime import timedelta

from redis.asyncio import Redis

from service.audit.collector import Counts
from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.audit.stream_consumer import Writer, hour_of
from service.features.audit_proof.writer import Writing
from service.kernel.clock import now
from service.keyspace import ACTIVITY_HOURS, Done, HourCounts
from service.records.logs.events import LoginEvent, OperationEvent
from tests.audit.conftest import Place, operation


async def add(place: Place, *events: OperationEvent | LoginEvent, number: int = 1) -> None:
    operations = [encode(event) for event in events if isinstance(event, OperationEvent)]
    logins = [encode(event) for event in events if isinstance(event, LoginEvent)]
    content = b'{"operations":[%b],"logins":[%b]}' % (b",".join(operations), b",".join(logins))
    assert await place.store.log.add(
        "activity", number, content, count=len(events), dropped=0, most_bytes=10**6
    )


def writer(place: Place) -> Writer:
    return Writer(place.store.log, Writing(place.database, Chain()), "activity", Counts())


async def test_entries_are_counted_in_the_hour_in_which_they_were_made(place: Place) -> None:
    this = hour_of(now())
    before = now() - timedelta(hours=3)
    await add(
        place,
        operation(1, decision="allow"),
        operation(2, decision="deny", status=403),
        operation(3, decision="deny", status=403, kind="REFUSED_READ", repetitions=40),
        operation(4),  # the policy was not asked
        operation(5, decision="allow", create_time=before),
        LoginEvent(event="login", outcome="success"),
        LoginEvent(event="login", outcome="failure", reason="login_failed"),
        LoginEvent(event="logout", outcome="success"),
        LoginEvent(event="login", outcome="success", create_time=before),
    )
    await writer(place).drain()
    assert await place.store.log.activity(hour_of(before), hour_of(before) + 1) == [
        HourCounts(hour_of(before), logins=1, allowed=1),
        HourCounts(hour_of(before) + 1),
    ]
    assert await place.store.log.activity(this, this) == [
        HourCounts(this, logins=1, login_failures=1, allowed=1, refused=41)
    ]


async def test_a_batch_that_is_reported_twice_is_counted_once(place: Place) -> None:
    this = hour_of(now())
    await add(place, operation(1, decision="allow"))
    (batch,) = await place.store.log.take("dies", most=1)
    done = Done(batch, 1, 0, (HourCounts(this, allowed=1),))
    await place.store.log.done([done])
    await place.store.log.done([done])  # its answer was lost, or another worker had claimed the batch
    assert await place.store.log.activity(this, this) == [HourCounts(this, allowed=1)]


async def test_hours_out_of_the_seven_days_leave_no_keys_and_others_expire(
    place: Place, redis_url: str
) -> None:
    this = hour_of(now())
    hours = [0, this - ACTIVITY_HOURS - 1, this - ACTIVITY_HOURS + 2, this, this + 48]
    await add(place, operation(1, decision="allow"))
    (batch,) = await place.store.log.take("one", most=1)
    await place.store.log.done([Done(batch, 1, 0, tuple(HourCounts(hour, refused=1) for hour in hours))])
    async with Redis.from_url(redis_url, decode_responses=True) as raw:
        names = await raw.keys("auth:log:activity:*")
        assert {int(str(name).rpartition(":")[2]) for name in names} == {this - ACTIVITY_HOURS + 2, this}
        assert all([0 < await raw.ttl(name) <= 3600 * (ACTIVITY_HOURS + 1) for name in names])


async def test_an_entry_that_can_not_be_read_counts_nowhere_and_holds_up_nothing(place: Place) -> None:
    this = hour_of(now())
    content = b'{"operations":[{"decision":"allow"},"x"],"logins":[{"event":1}]}'
    await place.store.log.add("activity", 1, content, count=3, dropped=0, most_bytes=1000)
    await add(place, operation(1, decision="allow"), number=2)
    await writer(place).drain()
    assert await place.store.log.activity(this, this) == [HourCounts(this, allowed=1)]
