"""Peers that can't be had are left out, with a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks import frameworks
from tests.benchmarks.frameworks import Peer
from tests.benchmarks.servers import ServerError

NO_PEER = Peer("none", ("tests.benchmarks.no_such_module",))


def test_a_peer_without_its_packages_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(frameworks, "PYTHON", tmp_path / "python")
    with pytest.raises(ServerError, match="its packages are not installed"):
        frameworks._started(NO_PEER, {})


def test_a_peer_that_does_not_start_is_refused_with_the_end_of_its_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frameworks, "PYTHON", Path(sys.executable))
    with pytest.raises(ServerError, match="No module named"), frameworks._started(NO_PEER, {}):
        pass
