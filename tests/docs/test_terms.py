"""Words of the project are in the glossary, and no page leaves its reader alone with one of them."""

import re
from pathlib import Path

from tests.docs.pages import ROOT
from tests.docs.terms import headwords, terms_of, unexplained
from tests.docs.test_readers import DOCS, PAGES
from tests.support.cases import with_each

GLOSSARY = DOCS / "reference" / "glossary.md"
TERMS = terms_of(GLOSSARY.read_text("utf-8"))
REPLACED = {
    "own part": "static policy",
    "shared lines": "stored policy",
    "timeline": "restore epoch",
    "auth mark": "permission code",
    "floor": "layer",
}
"""Words that the project has used for its own things, and what is said today."""


def test_each_word_of_the_project_has_its_entry() -> None:
    assert len(TERMS) > 15
    assert [term for term in TERMS if term.lower() not in headwords(GLOSSARY.read_text("utf-8"))] == []


def test_the_glossary_has_at_most_forty_entries() -> None:
    assert len(TERMS) < len(headwords(GLOSSARY.read_text("utf-8"))) <= 40


@with_each("page", [page for page in PAGES if page != GLOSSARY])
def test_a_page_explains_or_links_a_word_of_the_project_where_it_first_uses_it(page: Path) -> None:
    text = page.read_text("utf-8")
    places = [(len(text[:place].splitlines()), word) for word, place in unexplained(text, TERMS)]
    assert places == [], "link the word to the glossary, or set it in bold where the page explains it"


@with_each("page", [*PAGES, ROOT / "README.md"])
def test_no_page_uses_a_word_that_was_replaced(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    used = [word for word in REPLACED if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    assert used == [], {word: REPLACED[word] for word in used}


def test_a_plain_use_is_noticed_and_a_linked_or_defined_one_is_not() -> None:
    terms = ["deny marker", "Button"]
    plain = "# Page\n\nA `deny marker` in code, | in no table.\n| deny marker |\nThen deny\nmarkers end it.\n"
    assert [word for word, _ in unexplained(plain, terms)] == ["deny\nmarkers"]
    assert list(unexplained("A [deny marker](glossary.md) and later a deny marker.", terms)) == []
    assert list(unexplained("A **deny marker** is a key.\n\n## Buttons\n\nA Button carries it.", terms)) == []
    assert terms_of("<!-- own:start -->\nButton, deny marker.\n<!-- own:end -->") == ["Button", "deny marker"]
