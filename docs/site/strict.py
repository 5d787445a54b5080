"""Makes built pages fit a strict Content-Security-Policy, and finds what is wrong with them.

Themes put styles and scripts into pages, which ``script-src 'self'`` forbids: they go to files of their own.
"""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote

_BLOCK: Final = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r'(<[^<>]*?) style="([^"]*)"')
_ROOT: Final = re.compile(r'data-content_root="([^"]*)"')
_ATTRIBUTES: Final = "_static/attributes.css"
_LOADED: Final = {"script": "src", "img": "src", "link": "href"}
_LEADING: Final = {"author", "index", "search", "copyright", "next", "prev"}  # <link>s that load nothing


def outline(folder: Path) -> None:
    """Move the inline scripts and styles of all pages in ``folder`` to files below ``_static``."""
    rules: dict[str, str] = {}
    for page in sorted(folder.rglob("*.html")):
        text = page.read_text("utf-8")
        root = match[1] if (match := _ROOT.search(text)) else ""

        def linked(block: re.Match[str], root: str = root) -> str:
            kind, content = block[1], block[2]
            name = f"_static/{_digest(content)}.{'js' if kind == 'script' else 'css'}"
            (folder / name).write_text(content, "utf-8")
            if kind == "script":
                return f'<script src="{root}{name}"></script>'
            return f'<link rel="stylesheet" href="{root}{name}">'

        def marked(tag: re.Match[str]) -> str:
            name = _digest(tag[2])
            rules[name] = tag[2]
            return f'{tag[1]} data-style="{name}"'

        text = _ATTRIBUTE.sub(marked, _BLOCK.sub(linked, text))
        link = f'<link rel="stylesheet" href="{root}{_ATTRIBUTES}">'
        page.write_text(text.replace("</head>", f"{link}</head>", 1), "utf-8")
    lines = [f'[data-style="{name}"] {{ {rule} }}\n' for name, rule in sorted(rules.items())]
    (folder / _ATTRIBUTES).write_text("".join(lines), "utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def faults(folder: Path) -> list[str]:
    """Return a sentence for each inline script or style, each load from elsewhere, and each dead link."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}
    complaints = []
    for path, page in pages.items():
        wrong = [f"{source} stands in the page" for source in page.inline]
        wrong += [f"{source} is loaded from elsewhere" for source in page.loaded if _is_elsewhere(source)]
        for link in [*page.loaded, *page.links]:
            if not _is_elsewhere(link) and not _leads_somewhere(link, path, pages):
                wrong.append(f"{link} leads nowhere")
        complaints += [f"{path.relative_to(folder)}: {fault}" for fault in wrong]
    return complaints


class Page(HTMLParser):
    """What a page loads, links to, holds in line, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in one tag."""
        given = {name: value or "" for name, value in attrs}
        self.inline += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        leads = tag == "a" or (tag == "link" and given.get("rel") in _LEADING)
        if (name := "href" if leads else _LOADED.get(tag)) in given:
            (self.links if leads else self.loaded).append(given[name])
        if "id" in given:
            self.places.add(given["id"])


def _is_elsewhere(link: str) -> bool:
    return link.startswith("//") or re.match(r"[a-z][a-z0-9+.-]*:", link) is not None


def _leads_somewhere(link: str, page: Path, pages: dict[Path, Page]) -> bool:
    path, _, fragment = link.partition("#")
    path = unquote(path.partition("?")[0])
    target = (page.parent / path).resolve() if path else page
    if not fragment or target not in pages:
        return target.is_file()
    return unquote(fragment) in pages[target].places
