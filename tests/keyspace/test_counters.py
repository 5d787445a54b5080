"""The counters' use of the library that counts."""

from __future__ import annotations

import sys

import pytest

from service.keyspace import SessionStore
from service.settings import Auth, Redis


def test_counters_import_no_second_client_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "valkey"]:
        monkeypatch.delitem(sys.modules, name)
    SessionStore(Redis(url="redis://nowhere"), Auth())
    assert "valkey" not in sys.modules
