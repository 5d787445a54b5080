"""The two writers of reports: what they make of hostile texts, and how a page is built."""

import re
from html.parser import HTMLParser

from service.laboratory.reporting.document import (
    Block,
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Section,
    Table,
)
from service.laboratory.reporting.html_page import as_html
from service.laboratory.reporting.markdown import as_markdown
from tests.support.cases import with_each

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></pre></code><svg/onload=alert(1)>",
    "<!-- --><iframe src=//evil.example>",
    "javascript:alert(1)",
    "&lt;script&gt;",
    "a|b``c`` | d",
    "[here](javascript:alert(1)) ![x](//evil.example/x)",
    "# head\n- item\r\n1. one",
    "```\n<script>alert(1)</script>",
    "user\u202egnp.exe\u0000\u2028\u200b",
    "https://evil.example and www.evil.example",
]
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "h1", "p", "nav", "ol", "li", "main"),
    *("section", "h2", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "code", "pre", "i"),
    *("dl", "dt", "dd"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "href", "aria-label", "id"),
    *("aria-labelledby", "role", "tabindex", "scope"),
}


def document(text: str) -> Document:
    cells = [[Cell(text), Cell(text, code=True), Cell([text, text], code=True, tone="good")]]
    blocks: list[Block] = [
        Paragraph(text),
        Listing(f"# {text}\n{text}", comments=True),
        Table(text, ("One", text, "Three"), cells),
        Form((text,)),
    ]
    return Document(text, text, [Section("first", text, blocks), Section("second", "Second", [])])


def html_of(text: str) -> str:
    return "".join(as_html(document(text)))


class Page(HTMLParser):
    """The elements of a page with their attributes, in order, and its text; fails for unbalanced ones."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@with_each("text", HOSTILE)
def test_hostile_texts_stay_texts_in_html(text: str) -> None:
    page, plain = Page(html_of(text)), Page(html_of("plain"))

    def shape(document_page: Page) -> list[tuple[str, list[str]]]:
        return [(tag, list(attributes)) for tag, attributes in document_page.elements if tag != "i"]

    assert shape(page) == shape(plain)
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {name for _, attributes in page.elements for name in attributes} <= ATTRIBUTES
    assert {link["href"] for link in page.all("a")} == {"#report", "#first", "#second"}


def test_texts_are_told_as_they_are_and_what_can_not_be_seen_by_its_number() -> None:
    text = "".join(Page(html_of('<b>"&amp; user\u202egnp.exe')).text)

    assert '<b>"&amp; user<U+202E>gnp.exe' in text
    assert "\u202e" not in text


@with_each("text", HOSTILE)
def test_hostile_texts_stay_texts_in_markdown(text: str) -> None:
    written = as_markdown(document(text))
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", written, flags=re.DOTALL | re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in outside.splitlines() if line.startswith("|")]
    spans = re.sub(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    spans = spans.replace("<br>", "")

    assert {len(row) for row in cells} == {3}
    assert outside.count("<br>") == 1  # a line feed inside a text makes no line
    assert outside.count("\n# ") + outside.startswith("# ") == 1
    assert [line for line in outside.splitlines() if line.startswith("## ")][1:] == ["## Second"]
    for special in "`*_[]<>|":
        assert not re.search(rf"(?<!\\){re.escape(special)}", "".join(inner(spans))), special
    assert not re.search(r"(?<!\\)://", spans)
    assert not re.search(r"www\.", spans)


def inner(text: str) -> list[str]:
    """Return the lines of ``text`` without the marks that the writer makes itself."""
    lines = [re.sub(r"^\*\*(.*)\*\*$", r"\1", line) for line in text.splitlines()]
    return ["".join(re.split(r"(?<!\\)\|", line)) if line.startswith("|") else line for line in lines]


def test_a_page_loads_and_runs_nothing_and_says_so() -> None:
    html = html_of("text")
    page = Page(html)

    (policy,) = [element["content"] for element in page.all("meta") if element.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not re.search(r"url\(|@import|src=|https?:", html)


def test_a_page_is_accessible() -> None:
    page = Page(html_of("text"))

    assert (page.all("html")[0]["lang"], len(page.all("main")), len(page.all("h1"))) == ("en", 1, 1)
    assert [element["aria-label"] for element in page.all("nav")] == ["Sections"]
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {element["aria-labelledby"] for element in page.all("section")} <= ids
    assert {element["href"] for element in page.all("a")} <= {f"#{section_id}" for section_id in ids}
    assert len(page.all("caption")) == len(page.all("table")) == len(page.all("thead"))
    assert [element["scope"] for element in page.all("th")] == ["col"] * 3 + ["row"]
    for scrolled in (
        *page.all("pre"),
        *(element for element in page.all("div") if element.get("class") == "table"),
    ):
        assert scrolled["tabindex"] == "0"


def test_a_page_prints_on_paper() -> None:
    style = html_of("text").partition("@media print {")[2].partition("</style>")[0]

    assert "thead { display: table-header-group; }" in style
    assert "section { break-before: page;" in style
    assert "break-inside: avoid" in style
