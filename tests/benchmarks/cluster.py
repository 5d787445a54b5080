"""What is lost, and for how long nothing works, when a primary or one of several nodes is killed under load.

Run by ``dev.py bench faults --cluster``.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.fault_matrix.calls import Caller, Reply
from tests.support.failover import Writers
from tests.support.members import USER
from tests.support.replicated import ReplicatedPostgres
from tests.support.running import Running
from tests.support.seeded import ADMINISTRATOR_PASSWORD, seed_database
from tests.support.sentinel import DOWN_AFTER, SentinelGroup
from tests.support.valkey_cluster import ValkeyCluster

_WORKING = 2.0  # seconds of load before and after each failure
_UNNOTICED = 1.0  # seconds in which replicas receive nothing, before their primary is killed
_USERS = 60
_MOVED = 40  # slots of each primary that a new one gets
_OK, _CREATED, _REFUSED, _UNAVAILABLE = 200, 201, 401, 503


def main() -> int:
    """Run all; return 1 when something that was acknowledged is lost."""
    wrong: list[str] = []
    failures = (database_failover, confirmed_failover, unconfirmed_failover, shard_failover, resharding)
    for failure in (*failures, two_nodes, four_nodes):
        with tempfile.TemporaryDirectory(prefix="pc-") as folder, ExitStack() as stack:
            print(f"{failure.__name__.replace('_', ' ')}:", flush=True)
            wrong += failure(Path(folder), stack)
    print(*(wrong or ["nothing that was acknowledged is lost"]), sep="\n")
    return 1 if wrong else 0


def database_failover(place: Path, stack: ExitStack) -> list[str]:
    """Kill the primary of a synchronous pair, and promote the standby a second later."""
    pair = stack.enter_context(ReplicatedPostgres(place / "pair"))
    stores = stack.enter_context(EmbeddedStores(place / "stores", with_postgres=False))
    seed_database(pair.url)
    (service,) = _nodes(place, stack, pair.url, stores.redis_url, 1)
    with Writers(service.url, password=ADMINISTRATOR_PASSWORD) as writers:
        writers.work_for(_WORKING)
        pair.kill_primary()
        writers.work_for(1.0)
        pair.promote()
        promoted = time.monotonic()
        back = writers.next_success(after=promoted)
        writers.work_for(_WORKING)
    return _print_writes(writers, pair.standby_url, f"back {back - promoted:.2f} s after the promotion")


def confirmed_failover(place: Path, stack: ExitStack) -> list[str]:
    """Kill the primary of a session store; a replica confirms, and none has heard anything for a second."""
    return _session_failover(place, stack, wait_replicas=1)


def unconfirmed_failover(place: Path, stack: ExitStack) -> list[str]:
    """Do the same without confirmation: what is lost is shown, and is no fault."""
    _session_failover(place, stack, wait_replicas=0)
    return []


def shard_failover(place: Path, stack: ExitStack) -> list[str]:
    """Kill a primary of a cluster whose replica has confirmed all, and heard nothing for a second."""
    cluster, service, tokens = _sharded(place, stack, wait_replicas=1)
    caller = Caller(service.url)
    stack.callback(caller.close)
    leaving, ended = _logging_out(caller, tokens)
    time.sleep(_UNNOTICED)
    primary = cluster.primaries[0]
    cluster.cut_off_replicas_of(primary)
    time.sleep(_UNNOTICED)
    cluster.kill(primary)
    killed = time.monotonic()
    _until(lambda: cluster.owner_of_slot(0) != primary)
    elected = time.monotonic()
    _until(lambda: _UNAVAILABLE not in {_status_of(caller, access) for access, _ in tokens})
    back = time.monotonic()
    leaving.join()
    # Refreshes of that shard are 503 until it has a replica again, which is no loss.
    lost = sum(
        _OK in (_status_of(caller, access), caller.refresh(refresh).status) for access, refresh in ended
    )
    print(
        f"  {len(ended)} logouts acknowledged, {lost} lost; elected {elected - killed:.2f} s after "
        f"the kill, the service {back - elected:.2f} s later\n"
    )
    return [f"{lost} acknowledged logouts are lost"] if lost else []


def resharding(place: Path, stack: ExitStack) -> list[str]:
    """Move slots to a new primary of a cluster, key by key, while all users go on."""
    cluster, service, tokens = _sharded(place, stack, wait_replicas=0)
    caller = Caller(service.url)
    stack.callback(caller.close)
    target = cluster.add_primary()
    slots = [slot for port in cluster.primaries for slot in sorted(cluster.slots_of(port))[:_MOVED]]

    def move_all() -> None:
        for slot in slots:
            cluster.move(slot, target)

    moving = threading.Thread(target=move_all)
    statuses: Counter[int] = Counter()
    moving.start()
    while moving.is_alive():
        for access, _ in tokens:
            statuses[_status_of(caller, access)] += 1
    moving.join()
    kept = sum(caller.refresh(refresh).status == _OK for _, refresh in tokens)
    wrong = sum(count for status, count in statuses.items() if status not in (_OK, _UNAVAILABLE))
    answers = f"{statuses.total()} answers, {wrong} wrong, {statuses[_UNAVAILABLE]} of 503"
    print(f"  {len(slots)} slots moved: {answers}; {len(tokens) - kept} sessions lost\n")
    return [f"{wrong} answers are wrong"] * bool(wrong) + ["sessions are lost"] * (kept < len(tokens))


def _status_of(caller: Caller, access: str) -> int:
    return caller.ask("GET", "/api/user/info", token=access).status


def _sharded(
    place: Path, stack: ExitStack, *, wait_replicas: int
) -> tuple[ValkeyCluster, Running, list[tuple[str, str]]]:
    """Return a cluster, a node that uses it, and the tokens of users who have logged in."""
    stores = stack.enter_context(EmbeddedStores(place / "stores", with_valkey=False))
    (place / "cluster").mkdir()
    cluster = stack.enter_context(ValkeyCluster(place / "cluster"))
    seed_database(stores.database_url)
    with psycopg.connect(stores.database_url) as connection:
        for number in range(_USERS):
            connection.execute(USER.encode(), (f"user{number}",) * 3)
    options = {"PORTCULLIS_REDIS__WAIT_REPLICAS": str(wait_replicas)}
    (service,) = _nodes(place, stack, stores.database_url, cluster.url, 1, **options)
    caller = Caller(service.url)
    stack.callback(caller.close)
    return cluster, service, [_pair(caller.log_in(f"user{number}")) for number in range(_USERS)]


def two_nodes(place: Path, stack: ExitStack) -> list[str]:
    """Kill one of two nodes."""
    return _node_killed(place, stack, 2)


def four_nodes(place: Path, stack: ExitStack) -> list[str]:
    """Kill one of four nodes."""
    return _node_killed(place, stack, 4)


def _logging_out(
    caller: Caller, tokens: Sequence[tuple[str, str]]
) -> tuple[threading.Thread, list[tuple[str, str]]]:
    """Log all out in the background; returns the thread, and the pairs whose logout was acknowledged."""
    ended: list[tuple[str, str]] = []

    def log_out_all() -> None:
        for access, refresh in tokens:
            if caller.ask("POST", "/api/auth/logout", token=access).status == _OK:
                ended.append((access, refresh))
            time.sleep(2 * _UNNOTICED / _USERS)

    leaving = threading.Thread(target=log_out_all)
    leaving.start()
    return leaving, ended


def _session_failover(place: Path, stack: ExitStack, *, wait_replicas: int) -> list[str]:
    stores = stack.enter_context(EmbeddedStores(place / "stores", with_valkey=False))
    (place / "group").mkdir()
    group = stack.enter_context(SentinelGroup(place / "group", replicas=2, sentinels=3))
    seed_database(stores.database_url)
    with psycopg.connect(stores.database_url) as connection:
        for number in range(_USERS):
            connection.execute(USER.encode(), (f"user{number}",) * 3)
    options = {"PORTCULLIS_REDIS__WAIT_REPLICAS": str(wait_replicas)}
    (service,) = _nodes(place, stack, stores.database_url, group.url, 1, **options)
    caller = Caller(service.url)
    stack.callback(caller.close)
    tokens = [_pair(caller.log_in(f"user{number}")) for number in range(_USERS)]
    leaving, ended = _logging_out(caller, tokens)
    time.sleep(_UNNOTICED)
    group.cut_off_replicas()
    time.sleep(_UNNOTICED)
    old = group.primary
    group.kill(old)
    killed = time.monotonic()
    group.wait_for_primary(old)
    writable = time.monotonic()
    _until(lambda: caller.log_in().status == _OK)
    back = time.monotonic()
    leaving.join()
    lost = sum(
        caller.ask("GET", "/api/user/info", token=access).status != _REFUSED
        or caller.refresh(refresh).status != _REFUSED
        for access, refresh in ended
    )
    print(
        f"  {len(ended)} logouts acknowledged, {lost} lost; writable {writable - killed:.2f} s after "
        f"the kill (given up after {DOWN_AFTER / 1000} s), the service {back - writable:.2f} s later\n"
    )
    return [f"{lost} acknowledged logouts are lost"] if lost else []


def _node_killed(place: Path, stack: ExitStack, number: int) -> list[str]:
    stores = stack.enter_context(EmbeddedStores(place / "stores"))
    seed_database(stores.database_url)
    nodes = _nodes(place, stack, stores.database_url, stores.redis_url, number)
    callers = [Caller(node.url) for node in nodes]
    for caller in callers:
        stack.callback(caller.close)
    devices = iter(f"device{count}" for count in range(3 * number))
    tokens = [_pair(caller.log_in(device=next(devices))) for caller in callers for _ in range(3)]
    with Writers(*(node.url for node in nodes), password=ADMINISTRATOR_PASSWORD) as writers:
        writers.work_for(_WORKING)
        nodes[0].kill()
        writers.work_for(_WORKING)
    renewed = [callers[-1].refresh(refresh).status for _, refresh in tokens]
    ended = sum(status != _OK for status in renewed)
    print(f"  {len(tokens)} sessions, {ended} lost")
    wrong = _print_writes(writers, stores.database_url, "without a pause for those that use another node")
    return wrong + ([f"{ended} sessions are lost"] if ended else [])


def _nodes(
    place: Path, stack: ExitStack, database: str, sessions: str, number: int, **options: str
) -> Sequence[Running]:
    variables = options | {
        "DATABASE_URL": database,
        "REDIS_URL": sessions,
        "JWT_SECRET": os.urandom(32).hex(),
        "PORTCULLIS_THROTTLE__ENABLED": "false",
        "PORTCULLIS_AUTH__MAX_DEVICES": "1000",
    }
    nodes = [Running(place, "--workers", "1", **variables) for _ in range(number)]
    for node in nodes:
        stack.callback(node.stop)
    for node in nodes:
        node.wait()
    return nodes


def _print_writes(writers: Writers, database_url: str, when: str) -> list[str]:
    """Print what became of the writes; return what is wrong."""
    with psycopg.connect(database_url) as connection:
        stored = {code for (code,) in connection.execute("SELECT role_code FROM sys.role")}
    lost = len(writers.acknowledged - stored)
    others = {status: count for status, count in writers.statuses.items() if status != _CREATED}
    print(f"  {len(writers.acknowledged)} writes acknowledged, {lost} lost; other answers {others}; {when}\n")
    return [f"{lost} acknowledged writes are lost"] if lost else []


def _pair(reply: Reply) -> tuple[str, str]:
    assert reply.status == _OK, reply.body
    data = reply.json["data"]
    return data["accessToken"], data["refreshToken"]


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
