"""Write a document as one HTML page, without scripts and external resources, for screen and paper."""

from collections.abc import Iterator
from functools import lru_cache, singledispatch
from html import escape
from pathlib import Path
from typing import Final

from service.laboratory.reporting.document import (
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Table,
    visible,
)

STYLE: Final = Path(__file__).with_suffix(".css").read_text("utf-8")


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page also forbids browsers to load or run anything."""


_OF_ROW: Final = ' scope="row"'


def as_html(document: Document) -> Iterator[str]:
    """Yield the parts of ``document`` as a page, with all texts escaped."""
    title = _text(document.title)
    links = "\n".join(
        f'<li><a href="#{escape(section.anchor)}">{_text(section.title)}</a></li>'
        for section in document.sections
    )
    yield f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<a class="skip" href="#report">Skip to the report</a>
<header>
<h1>{title}</h1>
<p>{_text(document.subtitle)}</p>
</header>
<nav aria-label="Sections">
<ol>
{links}
</ol>
</nav>
<main id="report">
"""
    for section in document.sections:
        anchor = escape(section.anchor)
        yield f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        yield f'<h2 id="{anchor}-title">{_text(section.title)}</h2>\n'
        for block in section.blocks:
            yield from _block(block)
        yield "</section>\n"
    yield "</main>\n</body>\n</html>\n"


@singledispatch
def _block(block: object) -> Iterator[str]:
    raise TypeError(type(block))


@_block.register
def _(block: Paragraph) -> Iterator[str]:
    yield f"<p>{_text(block.text)}</p>\n"


@_block.register
def _(block: Listing) -> Iterator[str]:
    lines = "\n".join(_listed(line, comments=block.comments) for line in block.text.splitlines())
    yield f'<pre tabindex="0"><code>{lines}</code></pre>\n'


def _listed(line: str, *, comments: bool) -> str:
    text = _text(line)
    return f"<i>{text}</i>" if comments and line.startswith("#") else text


@_block.register
def _(block: Table) -> Iterator[str]:
    caption = _text(block.caption)
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in block.head)
    yield (
        f'<div class="table" role="region" aria-label="{caption}" tabindex="0">\n'
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
    )
    for first, *others in block.rows:
        yield f"<tr>{_cell(first, 'th', _OF_ROW)}{''.join(map(_cell, others))}</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def _cell(cell: Cell, element: str = "td", scope: str = "") -> str:
    text = "\n".join(map(_text, cell.lines))
    content = f"<code>{text}</code>" if cell.code else text
    tone = f' class="{cell.tone}"' if cell.tone else ""
    return f"<{element}{scope}{tone}>{content}</{element}>"


@_block.register
def _(block: Form) -> Iterator[str]:
    rows = "\n".join(f"<div><dt>{_text(label)}</dt><dd></dd></div>" for label in block.labels)
    yield f'<dl class="form">\n{rows}\n</dl>\n'


@lru_cache(4096)  # most cells of a large table have one of a few texts
def _text(text: str) -> str:
    return escape(visible(text))
