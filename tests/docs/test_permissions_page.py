"""docs/reference/permissions.md shows the catalogue of permission codes as it is."""

from __future__ import annotations

from service.kernel.permission_catalogue import markdown
from tests.docs.pages import ROOT, between

PAGE = (ROOT / "docs" / "reference" / "permissions.md").read_text(encoding="utf-8")


def test_the_page_shows_the_catalogue_as_it_is() -> None:
    assert between(PAGE, "permissions") == markdown()
