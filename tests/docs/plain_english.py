"""Find wording that readers have to decode: ``python -m tests.docs.plain_english`` prints it and ends with 1.

Looks at pages, at docstrings, comments and messages of ``service``, and at the newest section of
CHANGELOG.md. Names of log events are left out, since they never change. CONTRIBUTING.md has the rules of
style.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

_ARE: Final = r"(?:is|are|was|were|has|have|had|does|do|did|may|can|must|will)"
PATTERNS: Final = {
    "name the owner: 'the user's own', 'their'": r"\bthe own\b",
    "name the person: 'the owner', 'users with a role'": (
        rf"\b(?:of|to|for|from|by|with|than|at|in|as|and|or) who {_ARE}\b|^who {_ARE}\b[^?]*[^?]$"
        r"|\bwho(?:m)?ever\b|\bnobody who\b"
    ),
    "name the thing instead of a clause with 'what'": (
        r"\b(?:of|to|in|by|from|with|than|for|about) what (?:is|are|was|were|has|have)\b"
        r"|\bwhat (?:becomes of|there is)\b"
    ),
    "write a second sentence instead of an inversion": (
        r"\b(?:and|but) so (?:is|are|was|were|has|have|does|do|did)\b(?! (?:no|not|be|been)\b)"
        r"|\bso (?:is|are|does) (?:that|it|this)\b|\bnor do(?:es)? (?:those|that|it)\b"
    ),
    "use report, show, notify, state or return": (
        r"\b(?:is|are|was|were|be|been|being) told\b(?! (?:apart|from)\b)"
        r"|\btells? (?:of|how|when|which|what|nothing|that)\b"
    ),
    "begin with the subject": r"^(?-i:Of) (?:a|an|the|two|several|each|those|what)\b",
    "use 'no longer'": r"\bno more(?=[.,;:)]|$)",
    "use 'directly in the database'": r"\bpast th(?:e|is) service\b",
    "use 'available'": r"\b(?:is|are) to be had\b",
}
"""The wording to avoid, by the advice. Each is looked for in one sentence at a time, whatever the case."""

_BEFORE: Final = "shows the wording to avoid"
_NAME: Final = "the name of an operation, which the log has"
EXCEPTIONS: Final = (
    ("CONTRIBUTING.md", "Who has lost the key", _BEFORE),
    ("CONTRIBUTING.md", "A link that was used is good no more", _BEFORE),
    ("CONTRIBUTING.md", "What becomes of sessions", _BEFORE),
    ("service/features/account_links/api.py", "agree to the own address", _NAME),
    ("service/features/account_links/api.py", "ask for a link to confirm the own address", _NAME),
)
"""File, words and reason of sentences that stay as they are; at most forty."""

MOST_WORDS: Final = 3_000
"""Words of a page outside code blocks and pictures."""

MEASURED: Final = "docs/reference/performance.md"
"""Written by ``dev.py bench``, with tables of any length."""

_COMPILED: Final = {advice: re.compile(pattern, re.IGNORECASE) for advice, pattern in PATTERNS.items()}
_CODE: Final = re.compile(
    r"^ *```.*?^ *```[^\n]*$|<!--.*?-->|`[^`\n]*`|\]\([^)\s]*\)", re.DOTALL | re.MULTILINE
)
_BLOCK: Final = re.compile(
    r"^ *```.*?^ *```[^\n]*$|<!--.*?-->|^!\[[^\]]*\]\([^)]*\)$", re.DOTALL | re.MULTILINE
)
_BREAK: Final = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))|\s*\|\s*|; ")
_LOGS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
_MESSAGE: Final = re.compile(r"[A-Za-z]{2,}(?: [^ ]+){2,}")
_OPENING: Final = re.compile(r"(?:What|Who|Whose|Whether|How|When)\b")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of ``text``, each with the number of its line, from 0."""
    start = 0
    for end in [*_BREAK.finditer(text), None]:
        stop = end.start() if end else len(text)
        sentence = " ".join(text[start:stop].split()).strip("*-#> ")
        if sentence:
            yield text.count("\n", 0, start), sentence
        start = end.end() if end else stop


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings, comments and messages of Python code with their lines."""
    tree = ast.parse(source)
    names = {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _LOGS
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in names and _MESSAGE.search(text):
                yield node.lineno, text
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != last + 1:
                yield first, "\n".join(block)
                block = []
            if not block:
                first = token.start[0]
            block.append(token.string.lstrip("#: "))
            last = token.start[0]
    if block:
        yield first, "\n".join(block)


def openings_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings of functions that do not begin with what is returned or done."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            if _OPENING.match(text):
                yield node.lineno, text.partition("\n")[0]


def faults_of(place: str, line: int, text: str) -> Iterator[str]:
    """Yield the faults of a text that begins at ``line`` of ``place``."""
    for offset, sentence in sentences(_CODE.sub(lambda code: re.sub(r"[^\n]", "x", code[0]), text)):
        for advice, pattern in _COMPILED.items():
            hit = pattern.search(sentence)
            if hit and not is_excepted(place, sentence):
                yield f"{place}:{line + offset}: '{hit[0]}': {advice}: {sentence[:200]}"


def is_excepted(place: str, sentence: str) -> bool:
    """Return true if an exception has words of this sentence."""
    return any(file == place and words in sentence for file, words, _reason in EXCEPTIONS)


def newest_section(text: str) -> str:
    """Return the newest section of a changelog that has entries."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return next((section for section in sections if "\n- " in section), "")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the pages with prose, by name; of the changelog only its newest section."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    for path in sorted([*paths, ROOT / "policies" / "README.md"]):
        place, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        if "node_modules" in path.parts or place == MEASURED:
            continue
        yield place, newest_section(text) if path.name == "CHANGELOG.md" else text


def length_faults(place: str, text: str) -> Iterator[str]:
    """Yield a fault if a page has too many words outside code blocks and pictures."""
    count = len(_BLOCK.sub("", text).split())
    if count > MOST_WORDS and place != "CHANGELOG.md":
        yield f"{place}: {count} words, at most {MOST_WORDS}: split the page"


def faults() -> Iterator[str]:
    """Yield all faults of the checkout."""
    for place, text in pages():
        yield from length_faults(place, text)
        yield from faults_of(place, 1, text)
    for path in sorted((ROOT / "service").rglob("*.py")):
        place, source = str(path.relative_to(ROOT)), path.read_text("utf-8")
        for line, text in texts_of(source):
            yield from faults_of(place, line, text)
        for line, text in openings_of(source):
            if not is_excepted(place, text):
                yield f"{place}:{line}: begin with a verb, such as Return: {text}"


def main() -> int:
    """Print the faults; returns the exit status."""
    count = 0
    for count, fault in enumerate(faults(), 1):  # noqa: B007 - the last number is the count
        sys.stdout.write(f"{fault}\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
