"""The decision log of a worker by its settings, including its export to destinations."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.features.decision_log.decision_event import Event, encoded
from service.features.decision_log.decision_log import DecisionLog, DecisionWriter, output_named
from service.features.decision_log.event_lines import Line
from service.features.export.exporter import DecisionOutbox
from service.settings import Policy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Exported:
    outbox: DecisionOutbox

    def put(self, event: Event) -> None:
        self.outbox.put(encoded(event))

    def put_lines(self, lines: Sequence[Line]) -> None:
        for line in lines:
            self.outbox.put(b"".join(line))


def decision_log(settings: Policy, outbox: DecisionOutbox | None = None) -> DecisionLog | None:
    """Return the log of the settings, also exported by ``outbox``; None without a target."""
    is_off = settings.decision_log == "off"
    if is_off and outbox is None:
        return None
    writer = None if is_off else DecisionWriter(output_named(settings.decision_log))
    others = () if outbox is None else (_Exported(outbox),)
    return DecisionLog(writer, settings.decision_log_allows, *others)
