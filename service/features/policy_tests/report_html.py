"""Write a document as one HTML page, without scripts and external resources, for screen and paper."""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import Final

from service.features.policy_tests.report_document import (
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Section,
    Table,
    visible,
)

STYLE: Final = Path(__file__).with_suffix(".css").read_text("utf-8")


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page also forbids browsers to load or run anything."""


def as_html(document: Document) -> str:
    """Return ``document`` as a page, with all texts escaped."""
    title = _text(document.title)
    links = "\n".join(
        f'<li><a href="#{escape(section.anchor)}">{_text(section.title)}</a></li>'
        for section in document.sections
    )
    sections = "\n".join(map(_section, document.sections))
    return f"""<!doctype html>
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
{sections}
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    anchor = escape(section.anchor)
    blocks = "\n".join(map(_block, section.blocks))
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{_text(section.title)}</h2>\n{blocks}\n</section>'
    )


@singledispatch
def _block(block: object) -> str:
    raise TypeError(type(block))


@_block.register
def _(block: Paragraph) -> str:
    return f"<p>{_text(block.text)}</p>"


@_block.register
def _(block: Listing) -> str:
    lines = "\n".join(_listed(line, comments=block.comments) for line in block.text.splitlines())
    return f'<pre tabindex="0"><code>{lines}</code></pre>'


def _listed(line: str, *, comments: bool) -> str:
    text = _text(line)
    return f"<i>{text}</i>" if comments and line.startswith("#") else text


@_block.register
def _(block: Table) -> str:
    caption = _text(block.caption)
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in block.head)
    body = "\n".join(f"<tr>{''.join(_row(row))}</tr>" for row in block.rows)
    return (
        f'<div class="table" role="region" aria-label="{caption}" tabindex="0">\n'
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _row(row: Sequence[Cell]) -> Iterator[str]:
    for at, cell in enumerate(row):
        text = "\n".join(map(_text, cell.lines))
        content = f"<code>{text}</code>" if cell.code else text
        tone = f' class="{cell.tone}"' if cell.tone else ""
        yield f"<td{tone}>{content}</td>" if at else f'<th scope="row"{tone}>{content}</th>'


@_block.register
def _(block: Form) -> str:
    rows = "\n".join(f"<div><dt>{_text(label)}</dt><dd></dd></div>" for label in block.labels)
    return f'<dl class="form">\n{rows}\n</dl>'


def _text(text: str) -> str:
    return escape(visible(text))
