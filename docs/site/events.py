"""The events of the core as Markdown, for docs/explanation: what features take part in, and who listens."""

from __future__ import annotations

from collections.abc import Iterator

import service.authz.publishing.publisher  # noqa: F401 - it declares an event
from service.administration.events import TRIGGERS
from service.kernel.events import events
from service.kernel.feature import declared


def markdown() -> str:
    """Return a table of the events, with their listeners in order, and of the triggers of features."""
    lines = [
        "| Event | When | Within | A listener may lock | It may raise | Listeners |",
        "| --- | --- | --- | --- | --- | --- |",
        *_events(),
        *_triggers(),
    ]
    return "\n".join(lines) + "\n"


def _events() -> Iterator[str]:
    for event in events().values():
        listening = [
            f"`{feature.module(text.partition(':')[0])}`"
            for feature in declared()
            if (text := feature.listens.get(event.name))
        ]
        cells = (event.when, event.within, event.locks, event.raises, ", ".join(listening) or "none")
        yield f"| `{event.name}` | {' | '.join(cells)} |"


def _triggers() -> Iterator[str]:
    for trigger in TRIGGERS:
        cells = (trigger.when, "The statement", trigger.locks, trigger.raises, trigger.effect)
        yield f"| `{trigger.name}` on `{trigger.table}` | {' | '.join(cells)} |"
