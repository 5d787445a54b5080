"""A service of four workers in processes of its own."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.__main__ import main
from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import Inside
from tests.support.running import Running, portcullis, running
from tests.support.without import OFF

PASSWORD = "portals, hinges & bolts"


@dataclass(frozen=True)
class Workers:
    """A running service and its database; everybody's password is ``PASSWORD``."""

    service: Running
    database_url: str


@pytest.fixture(scope="package")
def workers(stores: EmbeddedStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Four workers; beside the administrator there are ``newcomer``, without any right, and ``reader``."""
    folder = tmp_path_factory.mktemp("workers")
    with database(stores, name="four_workers") as url, session_store(stores) as redis_url:
        variables = {"DATABASE_URL": url, "REDIS_URL": redis_url, "JWT_SECRET": secrets.token_urlsafe(48)}
        password = {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}
        with running(folder, "--workers", "4", **variables, **password) as running_service:
            for arguments in (("newcomer",), ("reader", "--role", "auditor")):
                done = portcullis(folder, "admin", "create", *arguments, given=f"{PASSWORD}\n", **variables)
                assert done.status == 0, done.errors
            yield Workers(running_service, url)


Command = Callable[..., Any]
FILES_ALONE = ("check", "test")
"""Commands about files, which read no installation and name none."""


@pytest.fixture
def command_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Inside], Command]:
    """Run commands on the database of a service; they return what they print, or the JSON.

    What names their source is checked, and left out unless ``whole``.
    """
    database_name = ""

    async def run(*arguments: str, whole: bool = False, status: int = 0) -> Any:
        capsys.readouterr()
        ended = await asyncio.to_thread(main, ["policy", *arguments])
        printed = capsys.readouterr()
        assert ended == status, printed.err
        if arguments[0] in FILES_ALONE:
            return printed.out
        if "--json" in arguments:
            answer = json.loads(printed.out)
            assert database_name in answer["source"]
            return answer if whole else {name: answer[name] for name in answer if name != "source"}
        first, _, rest = printed.out.partition("\n")
        assert first.strip('"').startswith("Source: ")
        assert database_name in first
        return printed.out if whole else rest

    def command(service: Inside) -> Command:
        nonlocal database_name
        database_name = service.database_url.partition("@/")[2].partition("?")[0]
        assert database_name
        for name, value in {
            "DATABASE_URL": service.database_url,
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
            "PORTCULLIS_CONFIG": "",
            "PORTCULLIS_SERVER__DATA": str(tmp_path),
            **OFF,
        }.items():
            monkeypatch.setenv(name, value)
        return run

    return command


@pytest.fixture
def command(service: Inside, command_on: Callable[[Inside], Command]) -> Command:
    """Run a command on the database of the service of the test."""
    return command_on(service)
