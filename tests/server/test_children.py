"""The socket by which the launcher asks for its child processes."""

from __future__ import annotations

import tempfile

import pytest

from service.server.children import use_short_sockets


@pytest.mark.parametrize(("length", "moved"), [(75, False), (76, True), (300, True)])
def test_a_temporary_folder_that_is_too_long_for_a_socket_is_not_used(
    length: int, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = "/" + "x" * (length - 1)
    monkeypatch.setattr(tempfile, "tempdir", usual)
    use_short_sockets()
    assert tempfile.gettempdir() == ("/tmp" if moved else usual)
