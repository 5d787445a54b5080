"""Each view of the console leads to a page of the guide that exists."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import ROOT, anchors

NAVIGATION = Path("service/console/navigation.js")
PAGE = re.compile(r'^  "(/[^"]*)": "([^"#]+)\.html(?:#([^"]+))?",$', re.MULTILINE)


def test_views_lead_to_pages_and_headings_of_the_guide() -> None:
    pages = PAGE.findall((ROOT / NAVIGATION).read_text(encoding="utf-8"))
    assert len(pages) > 20
    missing = []
    for view, page, heading in pages:
        file = ROOT / "docs" / f"{page}.md"
        if not file.exists() or (heading and heading not in anchors(file.read_text(encoding="utf-8"))):
            missing.append((view, page, heading))
    assert missing == []
