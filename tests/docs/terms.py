"""Find words of the project on a page that nothing explains to a reader who sees them for the first time."""

import re
from collections.abc import Iterator

GLOSSARY = "glossary.md"
_NO_PROSE = re.compile(
    r"^ *```.*?^ *```[^\n]*$"  # blocks
    r"|<!--.*?-->"
    r"|`[^`\n]*`"
    r"|^\|[^\n]*$",  # rows of tables
    re.DOTALL | re.MULTILINE,
)
_EXPLAINED = re.compile(
    r"\[(?:[^\]\\]|\\.)*\]\([^)\s]*\)"  # a link
    r"|\*\*[^*]+\*\*|(?<![*\w])\*[^*\n]+\*(?!\*)"  # set apart, where it is explained
    r"|^#+ [^\n]*$",  # a heading, whose section is about it
    re.MULTILINE,
)


def terms_of(glossary: str) -> list[str]:
    """Return the words of the project that the glossary lists as such."""
    listed = re.search(r"<!-- own:start -->\n(.*?)<!-- own:end -->", glossary, re.DOTALL)
    return [] if listed is None else [term.strip() for term in re.split(r"[,.]", listed[1]) if term.strip()]


def headwords(glossary: str) -> set[str]:
    """Return the words that the glossary defines, in lower case."""
    return {word.rstrip(".").lower() for word in re.findall(r"\*\*([^*\n]+)\*\*", glossary)}


def unexplained(page: str, terms: list[str]) -> Iterator[tuple[str, int]]:
    """Yield each term whose first use on ``page`` is plain text, and the place of that use."""
    prose = _NO_PROSE.sub(lambda match: " " * len(match[0]), page)
    explained = [match.span() for match in _EXPLAINED.finditer(prose)]
    for term in terms:
        words = r"\s+".join(map(re.escape, term.split()))
        # A Button is no button.
        begin = rf"(?i:{words[0]}){words[1:]}" if words[0].islower() else words
        first = re.search(rf"(?<![\w-]){begin}(?:e?s)?(?![\w-])", prose)
        if first and not any(start <= first.start() < end for start, end in explained):
            yield first[0], first.start()
