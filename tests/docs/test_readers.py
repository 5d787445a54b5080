"""Each page is of one kind, which is its folder, and names below its heading for whom it is."""

import re
from pathlib import Path

from docs.site.pages import markdown
from tests.docs.pages import ROOT
from tests.support.cases import with_each

DOCS = ROOT / "docs"
READERS = ("front-end developer", "service developer", "administrator", "reviewer", "operator")
SECTIONS = {
    "Tutorial": ".",
    "How-to guides": "guides",
    "Reference": "reference",
    "Explanation": "explanation",
}
"""The sections of the index, and the folders of their pages."""

INDEX = DOCS / "README.md"
PAGES = sorted(
    page
    for folder in SECTIONS.values()
    for page in (DOCS.glob("*.md") if folder == "." else markdown(DOCS / folder))
    if page != INDEX
)


def readers_of(text: str) -> list[str]:
    """Return the readers that the line below the heading names; none without such a line."""
    match = re.match(r"# .+\n\n\*For: (.+)\*\n\n(?=\S)", text)
    return match[1].split(", ") if match else []


@with_each("page", PAGES)
def test_a_page_names_its_readers_below_its_heading(page: Path) -> None:
    readers = readers_of(page.read_text("utf-8"))
    assert readers, "below the heading: *For: operator*, or several of the readers of this test"
    assert not [reader for reader in readers if reader not in READERS]
    assert len({*readers}) == len(readers)


def test_a_page_stands_in_the_section_of_its_kind() -> None:
    for section, body in sections().items():
        linked = {DOCS / link for link in re.findall(r"\]\(([\w/.-]+\.md)\)", body)} & {*PAGES}
        # Pages elsewhere in the checkout, and the index of decisions, have no kind of their own.
        assert linked == {page for page in PAGES if kind_of(page) == SECTIONS[section]}, section


def kind_of(page: Path) -> str:
    """Return the folder of a page's kind."""
    return page.relative_to(DOCS).parts[0] if page.parent != DOCS else "."


def sections() -> dict[str, str]:
    """Return the parts of the index by their headings."""
    _, *parts = re.split(r"^## ", (DOCS / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    named = {part.partition("\n")[0]: part for part in parts}
    return {name: named[name] for name in SECTIONS}


def test_there_is_no_page_outside_the_four_kinds() -> None:
    known = {DOCS / "README.md", *PAGES}
    others = {path for path in markdown(DOCS) if path not in known}
    assert {path.relative_to(DOCS).parts[0] for path in others} == {"decisions", "examples", "zh-CN"}


def test_a_page_without_readers_and_one_with_another_are_noticed() -> None:
    assert readers_of("# A page\n\nText.\n") == []
    assert readers_of("# A page\n\n*For: operator, reviewer*\n\nText.\n") == ["operator", "reviewer"]
    assert readers_of("# A page\n\nText.\n\n*For: operator*\n") == []
