"""What a worker counts of the mails that it sends."""

from collections.abc import Iterator
from typing import Any

from service.app.parts import Part
from service.features.notices.sending import COUNTS
from service.kernel.metrics import Sample, counted


class SentMails(Part):
    """The attempts of the worker to send mails."""

    def __init__(self, container: Any) -> None:
        """Need nothing of ``container``: the job sends."""

    def samples(self) -> Iterator[Sample]:
        """Yield the attempts by outcome."""
        yield from counted("portcullis_mails_total", "outcome", COUNTS)
