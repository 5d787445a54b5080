"""Addresses of the pages, and where others link them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import service

API: Final = "/docs"
GUIDE: Final = "/docs/guide"
SITE: Final = Path(service.__file__).parent / "shipped" / "guide"
"""The path of the built site, in a checkout and in a package."""
FIRST: Final = "index.html"
BANNER: Final[Mapping[str, str]] = {"API docs": API}
"""Rows of the banner of a start: names, and paths."""


def is_built(site: Path = SITE) -> bool:
    """Return True if ``site`` holds the documentation."""
    return (site / FIRST).is_file()


def facts(_settings: object = None, site: Path = SITE) -> dict[str, str]:
    """Return facts for the console page: the pages that it can link."""
    return {"api": API, **({"guide": GUIDE} if is_built(site) else {})}
