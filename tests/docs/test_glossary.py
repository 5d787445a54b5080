"""docs/reference/glossary.md has one definition for each word."""

from __future__ import annotations

import re
from collections import Counter

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")


def test_each_word_is_defined_once() -> None:
    words = Counter(word.lower() for word in re.findall(r"\*\*([^*]+)\.\*\*", PAGE))
    assert words["entry"] == words["object"] == 1
    assert [word for word, times in words.items() if times > 1] == []
