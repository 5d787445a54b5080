"""Pictures of the pages can be read by everybody: each has a title, a description and a text in its page."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.docs.pages import ROOT, pages
from tests.support.cases import with_each

FOLDER = ROOT / "docs" / "explanation" / "pictures"
PICTURES = sorted(FOLDER.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def shown() -> dict[Path, list[str]]:
    """Return the texts that pages have in place of each picture."""
    texts: dict[Path, list[str]] = {}
    for page in pages():
        for text, link in _IMAGE.findall(page.read_text("utf-8")):
            if "://" not in link:
                texts.setdefault((page.parent / link).resolve(), []).append(text)
    return texts


@with_each("picture", PICTURES)
def test_a_picture_has_a_title_and_a_description_that_readers_of_screens_are_given(picture: Path) -> None:
    root = ET.fromstring(picture.read_text("utf-8"))
    assert root.attrib["role"] == "img"
    named = root.attrib["aria-labelledby"].split()
    texts = {element.attrib.get("id"): element.text or "" for element in root.iter()}
    assert [root.findall(f"{SVG}{tag}")[0].attrib["id"] for tag in ("title", "desc")] == named
    assert len(texts["title"]) > 10
    assert len(texts["desc"]) > len(texts["title"])


@with_each("picture", PICTURES)
def test_a_picture_stays_within_its_frame_and_loads_and_runs_nothing(picture: Path) -> None:
    source = picture.read_text("utf-8")
    root = ET.fromstring(source)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for box in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x < x + w <= width
        assert 0 <= y < y + h <= height
    assert "prefers-color-scheme: dark" in source
    assert not re.search(r"<script|\son\w+=|href=|@import|url\((?!#)", source)


def test_each_picture_is_shown_by_a_page_with_a_text() -> None:
    texts = shown()
    assert len(PICTURES) > 3
    assert [picture.name for picture in PICTURES if picture not in texts] == []
    assert [picture for picture, each in texts.items() if not all(text.strip() for text in each)] == []
    assert [picture for picture in texts if not picture.is_file()] == []
