"""The causes of revisions as coded sentences.

A revision stores its cause as an English text, which its seal covers. Code and parameters are read from this
text alone: they say nothing that the seal does not cover, and revisions of older versions have them too.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from service.kernel.coded_sentences import Sentence, Sentences
from service.kernel.core_sentences import every_sentence
from service.records.published.policy_revisions import PolicyRevision

_BY: Final = "cause_by"
_REASONS: Final = {
    *("revision_forged", "newest_revisions_lost", "revision_unusable"),
    *("seal_differs", "seal_missing", "kept_lines_differ", "stored_lines_differ"),
}
"""Codes of the reasons in causes."""
_FORMS: Final = {"count": r"[0-9]+", "revision": r"[0-9]+", "since": r"[0-9]+", "kind": r"[a-z]+"}
"""Forms of parameters; others may be any text."""
_NESTED: Final = {"fault", "reason"}
"""Parameters that are sentences."""


def cause_of(revision: PolicyRevision) -> Sentence:
    """Return the cause of a revision; with the code `other` if no template has its text."""
    text, by = revision.cause, revision.user_name
    texts = _texts()
    if by is not None and text.endswith(f" by {by}"):
        return texts(_BY, act=_read(text.removesuffix(f" by {by}")), user=by)
    act, separator, user = text.rpartition(" by ")
    stated = _read(act) if separator else None
    if stated is None or stated.code not in texts.texts:
        return _read(text)
    return texts(_BY, act=stated, user=user)


def _read(text: str) -> Sentence:
    """Return the sentence of which ``text`` is an instance."""
    texts = _texts()
    for code, pattern in _patterns():
        if (match := pattern.fullmatch(text)) is not None:
            params = {
                name: _read(value) if name in _NESTED else value for name, value in match.groupdict().items()
            }
            return texts(code, **params)
    return Sentence(text)


@cache
def _texts() -> Sentences:
    """Return the sentences of causes."""
    return Sentences(dict(_templates()))


def _templates() -> Iterator[tuple[str, str]]:
    for code, text in every_sentence().items():
        if code.startswith("cause_") or code in _REASONS:
            yield code, text


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the patterns of the templates, those with the most fixed text first."""
    texts = {code: text for code, text in _texts().texts.items() if code != _BY}
    fixed: Mapping[str, int] = {code: len(re.sub(r"\{\w+\}", "", text)) for code, text in texts.items()}
    return [(code, _pattern(texts[code])) for code in sorted(texts, key=lambda code: -fixed[code])]


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [f"(?P<{name}>{_FORMS.get(name, '.+')})" for name in parts[1::2]]
    return re.compile("".join(parts), re.DOTALL)
