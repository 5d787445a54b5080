"""Links lead somewhere, and CHANGELOG.md has the form that readers and programs expect."""

import re
from functools import cache
from pathlib import Path

from docs.site import made
from docs.site.pages import complete, markdown
from service import __version__
from service.records.installation.schema_revision import is_older
from tests.docs.pages import ROOT, anchors, pages
from tests.support.cases import with_each

_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [link for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", text)) if "://" not in link]


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors(complete(page.read_text("utf-8"), made.parts()))


@with_each("page", pages())
def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        shown = target / "README.md" if target.is_dir() else target  # as the site does
        exists = shown.is_file() and shown.is_relative_to(ROOT)
        if not exists or (fragment and fragment not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@with_each("page", pages())
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
    assert [page for page in markdown(ROOT / "docs") if page not in reached] == []


def test_pages_of_packages_that_npm_has_installed_are_none_of_ours(tmp_path: Path) -> None:
    for name in ("README.md", "example/README.md", "example/node_modules/vue/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A page")
    assert markdown(tmp_path) == [tmp_path / "README.md", tmp_path / "example" / "README.md"]


TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = {"Breaking", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_releases_are_dated_and_what_is_not_released_comes_first() -> None:
    first, *released = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in released)


def test_a_checkout_after_a_release_says_so_in_its_version() -> None:
    latest = re.findall(r"^## \[(\d[^\]]*)\]", TEXT, re.MULTILINE)[0]
    is_release = __version__ == latest and re.search(r"^## \[Unreleased\]\s+## \[", TEXT, re.MULTILINE)
    is_development = re.fullmatch(r"\d+\.\d+\.\d+\.dev0", __version__) and is_older(latest, __version__)
    assert is_release or is_development


def test_changes_are_sorted_by_their_kind() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= KINDS
    assert re.findall(r"^- ", TEXT, re.MULTILINE)
