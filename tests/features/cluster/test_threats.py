"""What others could do to a cluster, beside what faults do: see docs/explanation/threat-model.md."""

import asyncio
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from service.keyspace import SessionFacts, SessionStore
from service.keyspace.connection import cluster_of, new_connection
from service.keyspace.keys import slot_of
from service.settings import Auth, Redis
from tests.support.tls import Authority
from tests.support.valkey_cluster import ValkeyCluster

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")


async def test_an_emptied_shard_knows_none_of_its_users_and_has_no_revision_until_it_is_told(
    valkey_cluster: ValkeyCluster,
) -> None:
    valkey_cluster.empty()
    emptied, other = (valkey_cluster.slots_of(port) for port in valkey_cluster.primaries[:2])
    async with SessionStore(Redis(url=valkey_cluster.url), Auth()) as store:
        lost, kept = (
            next(user for user in map(str, range(1, 10_000)) if slot_of(user) in slots)
            for slots in (emptied, other)
        )
        await store.revision_key.announce(5)
        for user in (lost, kept):
            seen = await store.marker_of(user)
            assert (await store.open_session(user, "web", "a" * 24, FACTS, seen=seen)).outcome == "opened"
        with valkey_cluster.client(valkey_cluster.primaries[0]) as server:
            server.flushall()

        answer = await store.check(lost, "web")
        assert (answer.value, answer.revision) == (None, None)
        rotated = await store.rotate_session(
            lost, "a" * 24, "b" * 24, user_name="ann", nick_name="", seen=await store.marker_of(lost)
        )
        assert rotated.outcome == "unknown"
        other_answer = await store.check(kept, "web")
        assert other_answer.value is not None
        assert other_answer.revision == 5

        assert await store.revision_key.replace(await store.revision_key.read(None), 5)
        assert (await store.check(lost, "web")).revision == 5


async def test_a_server_that_a_redirect_names_gets_no_password_without_a_trusted_certificate(
    tmp_path: Path,
) -> None:
    (tmp_path / "other").mkdir()
    trusted, other = Authority(tmp_path), Authority(tmp_path / "other")
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(1000))
        writer.close()

    url = f"rediss+cluster://u:pa55w0rd@127.0.0.1:7000?ssl_ca_certs={trusted.file}"
    cluster = cluster_of(url, 2.0)
    assert cluster is not None
    _, opened = cluster
    for authority, gets_it in ((other, False), (trusted, True)):
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=authority.server("127.0.0.1"))
        async with server:
            connection = new_connection(opened(server.sockets[0].getsockname()[:2]))
            with pytest.raises(RedisError):
                await connection.connect()  # type: ignore[no-untyped-call]  # redis-py's gap
            assert any(b"pa55w0rd" in text for text in received) is gets_it
