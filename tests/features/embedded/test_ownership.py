"""A data directory that is not in the hands of its user alone is refused."""

import os
from pathlib import Path

import pytest

from service.operator.data_directory import is_open_to_group, require_own
from service.operator.errors import EmbeddedError

STRANGER = 4242
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.mark.parametrize(
    ("mode", "fits"),
    [(0o700, True), (0o755, True), (0o770, True), (0o777, False), (0o1777, False), (0o702, False)],
)
def test_a_directory_that_everybody_can_write_is_refused(tmp_path: Path, mode: int, fits: bool) -> None:
    data = tmp_path / "data"
    require_own(data)
    data.mkdir()
    data.chmod(mode)
    if fits:
        require_own(data)
        assert is_open_to_group(data) == (mode == 0o770)
    else:
        with pytest.raises(EmbeddedError, match=f"could replace its contents: chmod 700 {data}, or choose"):
            require_own(data)


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, STRANGER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    with pytest.raises(EmbeddedError, match=f"{tmp_path} belongs to .*: run as that user"):
        require_own(tmp_path)


@as_root
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_directory_with_something_of_another_user_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "postgres"
    if kind == "file":
        place.touch()
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(tmp_path)
    require_own(tmp_path)
    os.chown(place, STRANGER, -1, follow_symlinks=False)
    with pytest.raises(EmbeddedError, match=f"holds postgres of user {STRANGER}: remove it"):
        require_own(tmp_path)


@as_root
def test_what_the_servers_of_root_own_is_no_stranger_s(tmp_path: Path) -> None:
    (tmp_path / "sockets").mkdir()
    os.chown(tmp_path / "sockets", 65534, 65534)
    require_own(tmp_path)


@as_root
def test_for_an_ordinary_user_what_root_has_made_is_no_stranger_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    (tmp_path / "logs").mkdir()
    require_own(tmp_path)
    os.chown(tmp_path / "logs", 65534, -1)
    with pytest.raises(EmbeddedError, match="holds logs of nobody"):
        require_own(tmp_path)
