"""Every link from one page of the project to another leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, pages

_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [link for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", text)) if "://" not in link]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        shown = target / "README.md" if target.is_dir() else target  # as the site does
        exists = shown.is_file() and shown.is_relative_to(ROOT)
        if not exists or (fragment and fragment not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_has_a_title(page: Path) -> None:
    assert re.search(r"^# \S", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_page_of_the_documentation_can_be_reached_from_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached: set[Path] = set()
    open_pages = [index]
    while open_pages:
        page = open_pages.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        open_pages += [
            (page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"
        ]
    assert [page for page in (ROOT / "docs").rglob("*.md") if page not in reached] == []
