"""Coded sentences read back from stored texts.

Some tables store a sentence as its English text alone: that of a cause is covered by a seal, and those of
faults are older than codes. Code and parameters are read from the text, so that rows of older versions have
them too.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Final, overload

from service.kernel.coded_sentences import Sentence, Sentences
from service.kernel.core_sentences import every_sentence

_FORMS: Final = {
    "codes": r"[0-9]{3}(?: [0-9.]+)?",
    "command": r"[A-Za-z]+",
    "count": r"[0-9]+",
    "field": r"[A-Za-z0-9.\[\]]+",
    "kind": r"[a-z]+",
    "revision": r"[0-9]+",
    "seconds": r"[0-9.e+]+",
    "since": r"[0-9]+",
    "status": r"[0-9]{3}",
}
"""Forms of parameters; others may be any text."""


_OPTIONS: Final = re.compile(r"\{\w+, (?:plural|select),")
_DISTINCT: Final = 16  # characters by which a text is known as an instance of a template


class StoredSentences:
    """Reads sentences that ``chosen`` chooses by code and template, but those with options of parameters.

    Parameters of the names ``nested`` are sentences.
    """

    def __init__(self, chosen: Callable[[str, str], bool], nested: Collection[str] = ()) -> None:
        self._chosen: Final = chosen
        self._nested: Final = nested

    @overload
    def read(self, text: str) -> Sentence: ...

    @overload
    def read(self, text: str | None) -> Sentence | None: ...

    def read(self, text: str | None) -> Sentence | None:
        """Return the sentence of which ``text`` is an instance, with the code `other` if no template fits.

        None for None.
        """
        if text is None:
            return None
        for code, pattern in self._patterns:
            if (match := pattern.fullmatch(text)) is not None:
                params = {
                    name: self.read(value) if name in self._nested else value
                    for name, value in match.groupdict().items()
                }
                return self._texts(code, **params)
        return Sentence(text)

    @cached_property
    def _texts(self) -> Sentences:
        chosen = (each for each in every_sentence().items() if self._chosen(*each))
        return Sentences({code: text for code, text in chosen if not _OPTIONS.search(text)})

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        """Return the patterns of the templates, those with the most fixed text first."""
        texts: Mapping[str, str] = self._texts.texts
        ordered = sorted(texts, key=lambda code: -fixed_in(texts[code]))
        return [(code, _pattern(texts[code])) for code in ordered]


def fixed_in(template: str) -> int:
    """Return the number of characters of a template that are the same in all its instances."""
    return len(re.sub(r"\{\w+\}", "", template))


_FAULT_OF_FIELD: Final = "body_fault"
STORED_REFUSALS: Final = StoredSentences(
    lambda code, template: fixed_in(template) > _DISTINCT or code == _FAULT_OF_FIELD,
    nested={"fault", "reason"},
)
"""Reads the stored texts of refusals."""


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [f"(?P<{name}>{_FORMS.get(name, '.+')})" for name in parts[1::2]]
    return re.compile("".join(parts), re.DOTALL)
