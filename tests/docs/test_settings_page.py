"""docs/reference/settings.md tells the truth about the table of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.settings import load, markdown, table
from tests.docs.pages import ROOT, between

PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")


def test_the_page_shows_the_table_of_settings_as_it_is() -> None:
    assert between(PAGE, "settings") == markdown(), "run: python -m service.settings"


def test_every_setting_and_each_of_its_variables_is_on_the_page() -> None:
    for row in table():
        for name in (f"`{row.name}`", *(f"`{variable}`" for variable in row.variables)):
            assert name in between(PAGE, "settings")


def test_the_example_file_of_the_page_is_one_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("portcullis.toml").write_text(PAGE.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    settings = load({"JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"})
    assert (settings.server.port, settings.auth.max_devices) == (9000, 3)
    assert settings.auth.jwt_issuer == "portcullis"
