"""Read the documentation as its tests need it."""

import re
from pathlib import Path

from docs.site.pages import markdown

ROOT = Path(__file__).resolve().parents[2]


def pages() -> list[Path]:
    """Return every Markdown page that readers of the project are offered."""
    return sorted([*ROOT.glob("*.md"), *markdown(ROOT / "docs"), *markdown(ROOT / "deploy")])


def between(text: str, name: str) -> str:
    """Return what stands between the markers ``<!-- name:start -->`` and ``<!-- name:end -->``."""
    inside = text.partition(f"<!-- {name}:start -->\n")[2]
    return inside.partition(f"<!-- {name}:end -->")[0]


def anchors(text: str) -> set[str]:
    """Return the fragments of the headings of a page, as the usual renderers make them."""
    outside_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#{1,6} +(.+?) *$", outside_code, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of the first table in ``text``, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]
