"""The base class of errors that a command prints for its operator."""

from collections.abc import Iterable

from service.kernel.coded_sentences import Sentence
from service.kernel.text import printable


class OperatorError(Exception):
    """A fault that the operator can correct; the message names the fault and holds no secret."""


class FaultsError(OperatorError):
    """Several faults at once; ``faults`` has a sentence for each, on one line whatever a file says there.

    A sentence keeps its code and its parameters.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(map(_printable, faults))
        super().__init__("\n".join(self.faults))


def _printable(fault: str) -> Sentence:
    stated = Sentence.of(fault)
    return Sentence(printable(stated), stated.code, stated.params)
