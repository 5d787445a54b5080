"""The Chinese pages have the commands, the links and the headings of the English ones."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.pages import ROOT
from tests.docs.test_links import links

PAGES = {"README.md": ROOT / "README.md", "first-hour.md": ROOT / "docs" / "first-hour.md"}
"""The Chinese pages, and the English page of each."""
CHINESE = ROOT / "docs" / "zh-CN"


def targets(page: Path) -> list[str]:
    """Return where the links of a page lead, without those within the page, to it and to its translation."""
    aims = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve()
        if path and target not in {page, *PAGES.values(), *CHINESE.glob("*.md")}:
            aims.append(f"{target.relative_to(ROOT)}#{fragment}")
    return sorted(aims)


def shape(page: Path) -> list[str]:
    """Return the headings, table rows and list items of a page, in their order, without their words."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^(?:#+ \d*|\||- )", text, re.MULTILINE)


def test_each_chinese_page_has_an_english_one() -> None:
    assert {page.name for page in CHINESE.glob("*.md")} == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_has_the_commands_the_links_and_the_headings_of_the_english_one(name: str) -> None:
    chinese, english = CHINESE / name, PAGES[name]
    assert [block[:2] for block in blocks(chinese)] == [block[:2] for block in blocks(english)]
    assert targets(chinese) == targets(english)
    assert shape(chinese) == shape(english)


@pytest.mark.parametrize("name", PAGES)
def test_both_pages_link_to_one_another(name: str) -> None:
    chinese, english = CHINESE / name, PAGES[name]
    for page, other in ((chinese, english), (english, chinese)):
        assert other in {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_has_no_half_width_sign_between_chinese_letters(name: str) -> None:
    prose = re.sub(r"```.*?```", "", (CHINESE / name).read_text("utf-8"), flags=re.DOTALL)
    assert re.findall("[\u4e00-\u9fff][,;:?!()][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z0-9]", prose) == []
