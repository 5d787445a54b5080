"""Commands that share one connection, against a server that answers as a store may."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.errors import Unavailable
from service.keyspace import SessionStore
from tests.keyspace.test_pipeline import Server, run, with_server

TIME = b"*2\r\n$2\r\n42\r\n$1\r\n0\r\n"
NONE = b"*0\r\n"


def test_commands_of_the_moment_go_over_one_connection_and_each_has_its_own_reply(tmp_path: Path) -> None:
    def answered(_number: int, words: list[bytes]) -> bytes:
        return TIME if words == [b"TIME"] else NONE

    async def use(store: SessionStore, server: Server) -> None:
        found = await asyncio.gather(store.clock(), store.sessions("1"), store.clock())
        assert list(found) == [42_000, {}, 42_000]
        assert server.connections == 1

    run(with_server(tmp_path, answered, use))


def test_an_error_as_the_reply_refuses_its_own_command_and_no_other(tmp_path: Path) -> None:
    def answered(_number: int, words: list[bytes]) -> bytes:
        return TIME if words == [b"TIME"] else b"-OOM command not allowed\r\n"

    async def use(store: SessionStore, server: Server) -> None:
        clock, refused = await asyncio.gather(store.clock(), store.sessions("1"), return_exceptions=True)
        assert clock == 42_000
        assert isinstance(refused, Unavailable)
        assert await store.clock() == 42_000
        assert server.connections == 1

    run(with_server(tmp_path, answered, use))


def test_a_script_whose_connection_is_lost_before_the_reply_is_not_sent_again(tmp_path: Path) -> None:
    async def use(store: SessionStore, server: Server) -> None:
        with pytest.raises(Unavailable):
            await store.close_sessions("1")
        assert [words[0] for words in server.commands] == [b"EVALSHA"]

    run(with_server(tmp_path, lambda _number, _words: None, use))


def test_a_cancelled_command_takes_no_reply_of_another(tmp_path: Path) -> None:
    def answered(number: int, _words: list[bytes]) -> bytes:
        if number == 1:
            return b""
        return b"*2\r\n$1\r\n1\r\n$1\r\n0\r\n" + TIME

    async def use(store: SessionStore, _server: Server) -> None:
        first = asyncio.ensure_future(store.clock())
        await asyncio.sleep(0.05)
        first.cancel()
        assert await store.clock() == 42_000

    run(with_server(tmp_path, answered, use))
