"""The random secret of a local installation."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.settings import SettingsError, check_secret, local_secret


def test_the_local_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    secret = local_secret(folder, 32)
    assert local_secret(folder, 64) == secret
    assert check_secret("HS512", secret) is None
    assert (folder / "jwt_secret").stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["jwt_secret"]  # noqa: PTH208 - hidden files count


def test_two_installations_have_different_secrets(tmp_path: Path) -> None:
    assert local_secret(tmp_path / "a", 32) != local_secret(tmp_path / "b", 32)


def test_processes_that_start_at_once_agree_on_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: local_secret(tmp_path, 32), range(64)))) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    local_secret(tmp_path, 32)
    (tmp_path / "jwt_secret").chmod(mode)
    with pytest.raises(SettingsError, match="open to other users"):
        local_secret(tmp_path, 32)


def test_a_secret_that_is_too_short_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "jwt_secret").write_text("hunter2\n")
    (tmp_path / "jwt_secret").chmod(0o600)
    with pytest.raises(SettingsError, match="shorter than 32 bytes") as raised:
        local_secret(tmp_path, 32)
    assert "hunter2" not in str(raised.value)


def test_a_link_a_folder_and_a_pipe_in_its_place_are_refused(tmp_path: Path) -> None:
    local_secret(tmp_path / "real", 32)
    places = [tmp_path / name for name in ("link", "folder", "pipe")]
    for place in places:
        place.mkdir()
    (places[0] / "jwt_secret").symlink_to(tmp_path / "real" / "jwt_secret")
    (places[1] / "jwt_secret").mkdir(mode=0o700)
    os.mkfifo(places[2] / "jwt_secret", 0o600)
    for place in places:
        with pytest.raises(SettingsError, match=r"auth\.jwt_secret"):
            local_secret(place, 32)
