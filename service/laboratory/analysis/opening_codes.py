"""By which of many held codes the lines of many codes open, without asking about each pair of them."""

from collections.abc import Iterable

from service.kernel.codes import HeldCodes
from service.laboratory.analysis.held_code_index import HeldCodeIndex
from service.laboratory.proof.conditions import Condition, Held, line_answers


class OpeningCodes:
    """Finds the held codes, of many, by which the line of a code opens.

    Each predicate is true of a caller if it is true of one held code. So a line opens to a logged-in caller
    exactly if it opens to every login, by one of the held codes alone, or by several together. The lint
    refuses models that need several: each predicate by itself has to be enough. ``LineAnswers`` is asked
    about the held codes that may hold a code: the code itself, and the wildcards found in a tree of their
    segments.
    """

    def __init__(self, model_text: str, held_codes: Iterable[str]) -> None:
        """Raises PolicyError for a model outside the closed grammar."""
        self._answers = line_answers(model_text)
        self._needs_several = any(way.bit_count() > 1 for way in self._answers.ways(""))
        self._index = HeldCodeIndex(held_codes)
        self._alone: dict[str, tuple[str, ...]] = {}

    def to_all(self, code: str) -> bool:
        """Return True if a line with ``code`` opens to every logged-in caller."""
        return self._answers.opened(code, 0)

    def alone(self, code: str) -> tuple[str, ...]:
        """Return each held code by which a line with ``code`` opens; none for a word such as ``@login``."""
        opening = self._alone.get(code)
        if opening is None:
            opening = () if code.startswith("@") else tuple(self._index.alone(code, self._opens))
            self._alone[code] = opening
        return opening

    def together(self, code: str) -> list[Held]:
        """Return the smallest sets of several held codes by which a line with ``code`` opens."""
        if not self._needs_several:
            return []
        condition = Condition(self._answers, ((code,),))
        return [held for held in condition.smallest(self._index.near(code)) if len(held) > 1]

    def _opens(self, holder: HeldCodes, code: str) -> bool:
        return self._answers.opens(code, holder)
