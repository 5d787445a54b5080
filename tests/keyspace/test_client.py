"""Commands that share one connection, against a server that answers as a store may."""

import asyncio
from pathlib import Path

import pytest

from service.errors import Unavailable
from service.keyspace import SessionStore
from tests.keyspace.test_checks import Server, run, with_server

EPOCH = b"$5\r\nepoch\r\n"
NONE = b"*2\r\n$4\r\ndone\r\n*0\r\n"


def test_commands_of_the_moment_go_over_one_connection_and_each_has_its_own_reply(tmp_path: Path) -> None:
    def answered(_number: int, words: list[bytes]) -> bytes:
        return EPOCH if words[0] == b"SET" else NONE

    async def use(store: SessionStore, server: Server) -> None:
        epochs = (store.rights_epoch(login_id, "new") for login_id in ("1", "2"))
        replies = await asyncio.gather(store.sessions("1"), *epochs)
        assert list(replies) == [{}, b"epoch", b"epoch"]
        assert server.connections == 1

    run(with_server(tmp_path, answered, use))


def test_an_error_as_the_reply_refuses_its_own_command_and_no_other(tmp_path: Path) -> None:
    def answered(_number: int, words: list[bytes]) -> bytes:
        return EPOCH if words[0] == b"SET" else b"-OOM command not allowed\r\n"

    async def use(store: SessionStore, server: Server) -> None:
        asked = store.rights_epoch("1", "new"), store.sessions("1")
        epoch, refused = await asyncio.gather(*asked, return_exceptions=True)
        assert epoch == b"epoch"
        assert isinstance(refused, Unavailable)
        assert await store.rights_epoch("1", "new") == b"epoch"
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
        return b"$5\r\nfirst\r\n" + EPOCH

    async def use(store: SessionStore, _server: Server) -> None:
        first = asyncio.ensure_future(store.rights_epoch("1", "new"))
        await asyncio.sleep(0.05)
        first.cancel()
        assert await store.rights_epoch("1", "new") == b"epoch"

    run(with_server(tmp_path, answered, use))
