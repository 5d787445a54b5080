"""CHANGELOG.md has the form that its readers, and their programs, expect."""

from __future__ import annotations

import re

from service import __version__
from service.records.schema_revision import is_older
from tests.docs.pages import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_releases_are_dated_and_what_is_not_released_comes_first() -> None:
    first, *released = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in released)


def test_a_checkout_after_a_release_says_so_in_its_version() -> None:
    latest = re.findall(r"^## \[(\d[^\]]*)\]", TEXT, re.MULTILINE)[0]
    if re.search(r"^## \[Unreleased\]\s+## \[", TEXT, re.MULTILINE):
        assert __version__ == latest
    else:
        assert re.fullmatch(r"\d+\.\d+\.\d+\.dev0", __version__)
        assert is_older(latest, __version__)


def test_changes_are_sorted_by_their_kind() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= KINDS
    assert re.findall(r"^- ", TEXT, re.MULTILINE)
