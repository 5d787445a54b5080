"""Copies the pages of the project to one folder, for Sphinx: each at its place, with links that fit."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

LISTS: Final = ("docs/README.md", "docs/decisions/README.md")
"""Pages whose links are the navigation of the site, a heading for each section."""

ELSEWHERE: Final = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "guides/contributing.md",
    "deploy/README.md": "guides/deploying.md",
    "policies/README.md": "reference/policy-files.md",
}
"""Pages outside ``docs``, and their places in the site."""

# A fenced block, a link whose text may hold code, or code: links within blocks and code are none.
_PARTS: Final = re.compile(
    r"(?P<block>^ *```.*?^ *```)"
    r"|(?<!\\)\[(?P<text>(?:[^\]`]|`[^`\n]*`)*)\]\((?P<link>[^)\s]+)\)"
    r"|(?P<code>`[^`\n]*`)",
    re.DOTALL | re.MULTILINE,
)


_MADE: Final = re.compile(r"^<!-- made: ([a-z]+) -->$", re.MULTILINE)


class SiteError(Exception):
    """The pages can't be made into a site; the message says which page is why."""


def stage(target: Path, root: Path = ROOT, made: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write every page to the folder ``target``, made anew, with copies of the files that they link to.

    ``made`` are the parts that are made from the code: see ``docs.site.made``. Raises SiteError if a link
    leads to nothing in the checkout, or a page names a part that is not there.
    """
    shutil.rmtree(target, ignore_errors=True)
    places = places_of(root)
    for name, place in places.items():
        text, files = relinked(complete((root / name).read_text("utf-8"), made), name, places, root)
        page = target / place
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text + (navigation(text) if name in LISTS else ""), "utf-8")
        for file in files:
            copy = target / copy_of(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, copy)


def complete(text: str, made: Mapping[str, str]) -> str:
    """Return the text of a page with its parts from ``made``; raises SiteError if one is missing."""
    if missing := set(_MADE.findall(text)) - made.keys():
        raise SiteError(f"nothing makes {', '.join(sorted(missing))}")
    return _MADE.sub(lambda match: made[match[1]].rstrip("\n"), text)


def markdown(folder: Path) -> list[Path]:
    """Return the pages below ``folder``, sorted: those of packages that npm has installed are none."""
    return sorted(path for path in folder.rglob("*.md") if "node_modules" not in path.parts)


def places_of(root: Path = ROOT) -> dict[str, str]:
    """Return the place in the site of each page, by its path in the checkout."""
    own = [str(path.relative_to(root)) for path in markdown(root / "docs")]
    return {name: _place(PurePosixPath(name).relative_to("docs")) for name in own} | ELSEWHERE


def _place(page: PurePosixPath) -> str:
    return str(page.with_name("index.md") if page.name == "README.md" else page)


def relinked(text: str, name: str, places: dict[str, str], root: Path) -> tuple[str, set[str]]:
    """Return the page ``name`` with links as its place needs them, and the files that it links to.

    Links to pages lead to their places, links to other files to copies below ``files``.
    """
    here = PurePosixPath(places[name]).parent
    files: set[str] = set()

    def part(match: re.Match[str]) -> str:
        link = match["link"]
        if link is None or "://" in link or link.startswith("#"):
            return match[0]
        path, mark, fragment = link.partition("#")
        file = os.path.normpath(PurePosixPath(name).parent / path)
        if (root / file).is_dir():
            file = f"{file}/README.md"
        if file in places:
            return f"[{match['text']}]({os.path.relpath(places[file], here)}{mark}{fragment})"
        if file.startswith("..") or not (root / file).is_file():
            raise SiteError(f"{name} links to {link}, which is not there")
        files.add(file)
        return f"[{match['text']}]({os.path.relpath(copy_of(file), here)})"

    return _PARTS.sub(part, text), files


def copy_of(file: str) -> str:
    """Return the place in the site of a file of the checkout that is no page.

    The site stands in the package, where a module would be taken as a part of it: so its copy is a text.
    """
    return f"files/{file}" + (".txt" if file.endswith(".py") else "")


def navigation(text: str) -> str:
    """Return the table of contents, for the side bar, that the links to pages in ``text`` make."""
    tables = []
    shown: set[str] = set()
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        heading, _, body = section.partition("\n")
        if heading == "Start here":  # it repeats links of the sections below
            continue
        links = [
            (match["text"], match["link"].partition("#")[0])
            for match in _PARTS.finditer(body)
            if match["link"]
        ]
        entries = [
            f"{' '.join(title.replace('`', '').split())} <{link.removesuffix('.md')}>"
            for title, link in links
            if link.endswith(".md") and link not in shown
        ]
        shown |= {link for _, link in links}
        if entries:
            caption = [] if heading.startswith("#") or not heading else [f":caption: {heading}"]
            tables.append("\n".join(["```{toctree}", ":hidden:", *caption, "", *entries, "```"]))
    return "\n" + "\n\n".join(tables) + "\n" if tables else ""
