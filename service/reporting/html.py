"""Writes a document as one HTML page: no scripts, nothing to load, for screens and for paper."""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from html import escape
from typing import Final

from service.reporting.document import (
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Section,
    Table,
    visible,
)

STYLE: Final = """
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --ground: #f6f8fa;
  --good: #116329; --attention: #9a3412; --attention-ground: #fff3e6; }
* { box-sizing: border-box; }
html { background: #fff; color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans",
  "Liberation Sans", Arial, sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem clamp(.75rem, 3vw, 2.5rem) 4rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { border-bottom: 2px solid var(--ink); font-size: 1.25rem; margin: 0 0 .75rem; padding-bottom: .2rem; }
header p { color: var(--soft); margin: 0; }
p { margin: 0 0 .75rem; max-width: 46rem; }
nav { background: var(--ground); border: 1px solid var(--line); border-radius: 6px; margin: 1.25rem 0 2rem; }
nav ol { columns: 13rem; margin: 0; padding: .75rem 1rem .75rem 2.25rem; }
a { color: #0a4b9c; }
a:focus-visible, .table:focus-visible, pre:focus-visible { outline: 3px solid #0a4b9c; outline-offset: 2px; }
.skip { background: #fff; left: -999rem; padding: .5rem; position: absolute; top: 0; }
.skip:focus { left: .5rem; }
section { margin: 0 0 2.75rem; scroll-margin-top: 1rem; }
code, pre { font: .86em/1.45 ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
pre { background: var(--ground); border: 1px solid var(--line); border-radius: 6px; margin: 0 0 1rem;
  overflow-x: auto; padding: .75rem 1rem; }
pre code { font-size: 1em; }
pre i { color: var(--soft); font-style: normal; }
.table { margin: 0 0 1.5rem; overflow-x: auto; }
table { border-collapse: collapse; font-size: .93em; min-width: 50%; }
caption { font-weight: 600; padding: 0 0 .35rem; text-align: left; }
th, td { border: 1px solid var(--line); padding: .25rem .55rem; text-align: left; vertical-align: top;
  white-space: pre-line; }
thead th { background: var(--ground); vertical-align: bottom; }
tbody th { font-weight: 400; }
tbody tr:nth-child(even) { background: #fbfcfd; }
th code, td code { overflow-wrap: anywhere; }
th:has(code), td:has(code) { min-width: 8rem; }
tbody th code { overflow-wrap: normal; }
.good { color: var(--good); }
.attention { background: var(--attention-ground); color: var(--attention); font-weight: 600; }
.muted { color: var(--soft); }
.form { border-top: 1px solid var(--line); margin: 1rem 0 0; max-width: 46rem; }
.form div { border-bottom: 1px solid var(--line); display: flex; min-height: 2.75rem; padding-top: .9rem; }
.form dt { color: var(--soft); width: 12rem; }
.form dd { flex: 1; margin: 0; }

@page { margin: 16mm 12mm 18mm; @bottom-right { content: counter(page) " / " counter(pages);
  font: 8pt sans-serif; color: #57606a; } }
@media print {
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  .skip { display: none; }
  nav { border: 0; background: none; margin: .5rem 0 1rem; }
  nav a { color: inherit; text-decoration: none; }
  section { break-before: page; margin: 0; }
  section:first-child { break-before: auto; }
  h2, caption { break-after: avoid; }
  .table, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table { min-width: 0; width: 100%; font-size: 8pt; }
  thead { display: table-header-group; }
  tr, .form div { break-inside: avoid; }
  th, td { padding: .12rem .35rem; }
  th:has(code), td:has(code) { min-width: 12.5rem; }
  tbody th code { overflow-wrap: anywhere; }
  thead th, .attention { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The page forbids its reader's browser to load or run anything, besides that it contains nothing such."""


def as_html(document: Document) -> str:
    """Return ``document`` as a page. All its texts are escaped here."""
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
<style>{STYLE}</style>
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
