"""Clocks that are wrong: of this machine, of processes that tests start, of a session store or database."""

import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from types import ModuleType
from typing import Final, Self

import psycopg
import pytest
import redis
from psycopg import sql

from service.keyspace import scripts
from service.keyspace.scripts import Name
from tests.support.running import ROOT

_STARTED_WITH = """
import time
_true = time.time
time.time = lambda: _true() + {seconds}
"""
_KEY: Final = "tests:ahead"
_AHEAD: Final = """
local true_redis, ahead = redis, tonumber(redis.call('GET', '%s') or '0')
local longer = math.max(ahead, 0) -- a key can't end in the past: of a store that is behind, all live longer
local function shifted(call)
  return function(name, ...)
    local words = { ... }
    if name == 'TIME' then
      local time = call(name)
      return { time[1] + ahead, time[2] }
    elseif name == 'PTTL' then
      local left = call(name, ...)
      return left > 0 and left - 1000 * longer or left
    elseif name == 'SET' then
      for at = 3, #words - 1 do
        if words[at] == 'PX' then words[at + 1] = words[at + 1] + 1000 * longer end
        if words[at] == 'EX' then words[at + 1] = words[at + 1] + longer end
      end
    end
    return call(name, unpack(words))
  end
end
local redis = setmetatable(
  { call = shifted(redis.call), pcall = shifted(redis.pcall) }, { __index = true_redis }
)
"""
"""Put before each script: the clock that it reads, and by which keys end, is ``ahead`` seconds ahead."""


def shift(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this process, as the session store's client and the tokens read it."""
    true = time.time
    patch.setattr(time, "time", lambda: true() + seconds)


def shift_dates(patch: pytest.MonkeyPatch, module: ModuleType, by: timedelta) -> None:
    """Set the clock of this process as ``datetime`` tells it to ``module``."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + by

    patch.setattr(module, "datetime", Shifted)


def shifted_variables(folder: Path, seconds: float) -> dict[str, str]:
    """Return variables by which each Python process begins with a clock that is ``seconds`` ahead.

    Python imports ``sitecustomize`` before anything else (documentation of ``site``): a service needs
    ``running_anew``.
    """
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_STARTED_WITH.format(seconds=seconds))
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


class DatabaseClock:
    """The clock of a database, which a test sets: what ``now()`` and ``clock_timestamp()`` say in statements.

    For connections that are opened after it is made. Defaults of columns go by the true time.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._run(
            "CREATE SCHEMA shifted",
            "CREATE TABLE shifted.clock AS SELECT interval '0' AS ahead",
            *(
                f"CREATE FUNCTION shifted.{name}() RETURNS timestamptz {kind} LANGUAGE sql"
                f" RETURN pg_catalog.{name}() + (SELECT ahead FROM shifted.clock)"
                for name, kind in (("now", "STABLE"), ("clock_timestamp", "VOLATILE"))
            ),
        )
        database = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))
        self._run(sql.SQL("ALTER DATABASE {} SET search_path = shifted, pg_catalog, public").format(database))

    def set(self, seconds: int) -> None:
        """Set it to so many seconds ahead of the true time."""
        self._run(f"UPDATE shifted.clock SET ahead = interval '{seconds} seconds'")
        with psycopg.connect(self._url) as connection:
            row = connection.execute("SELECT extract(epoch FROM now() - pg_catalog.now())").fetchone()
            assert row == (seconds,)

    def _run(self, *statements: str | sql.Composed) -> None:
        with psycopg.connect(self._url) as connection:
            for statement in statements:
                connection.execute(statement)


class Clocks:
    """The clocks of a session store and of this machine, for stores that are opened after it is made.

    The store's is what its scripts and its keys live by. Time can pass for both, though a test does not wait.
    """

    def __init__(self, patch: pytest.MonkeyPatch, redis_url: str) -> None:
        self._redis = redis.Redis.from_url(redis_url, decode_responses=True)
        self._store = self._machine = self._passed = 0
        true_text, true_time, true_clock = scripts.text_of, time.time, time.clock_gettime

        def text_of(name: Name) -> str:
            return _AHEAD % _KEY + true_text(name)

        def clock(which: int) -> float:
            return true_clock(which) + (self._passed if which == time.CLOCK_BOOTTIME else 0)

        patch.setattr(scripts, "text_of", text_of)
        patch.setattr(time, "time", lambda: true_time() + self._passed + self._machine)
        patch.setattr(time, "clock_gettime", clock)

    def set(self, *, store: int = 0, machine: int = 0) -> None:
        """Set both clocks to so many seconds ahead of the true time."""
        self._store, self._machine = store, machine
        self._tell()

    def drift(self, *, store: int = 0, machine: int = 0) -> None:
        """Move both clocks by so many seconds."""
        self.set(store=self._store + store, machine=self._machine + machine)

    def wait(self, seconds: int) -> None:
        """Let so many seconds pass."""
        self._passed += seconds
        self._tell()

    def now(self) -> float:
        """Return the true time, in seconds since the epoch."""
        return time.time() - self._machine

    def close(self) -> None:
        """Disconnect from the store."""
        self._redis.close()

    def _tell(self) -> None:
        ahead = self._passed + self._store
        self._redis.set(_KEY, ahead)
        now = 1000 * (int(self._redis.time()[0]) + ahead)
        for key in self._redis.scan_iter(count=1000):
            if 0 < int(self._redis.execute_command("PEXPIRETIME", key)) <= now:  # type: ignore[no-untyped-call]
                self._redis.delete(key)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> Iterator[Clocks]:
    """The clocks of ``redis_url`` and of this machine, to be set; ask for it before a store is opened."""
    shifted = Clocks(monkeypatch, redis_url)
    yield shifted
    shifted.close()
