"""Plans the creation, edits and deletion of other services in a restore."""

from typing import Final

from service.authz.engine.rules import (
    ALLOW_PREFLIGHT,
    IGNORE_CASE,
    IGNORE_TRAILING_SLASH,
    NOBODY,
    REGISTERED,
    SERVICE,
)
from service.features.policy_history import store_row_history as policy_row_history
from service.features.policy_history.steps import Step, creation, update
from service.kernel.text import seen
from service.records import services
from service.records.database.transactions import Connection
from service.records.published.policy_history import Difference, PublishedLine

_ROUTER: Final = {
    "ignore_case": IGNORE_CASE,
    "ignore_trailing_slash": IGNORE_TRAILING_SLASH,
    "allow_preflight": ALLOW_PREFLIGHT,
}


async def plan_services(connection: Connection, rows: int, difference: Difference, steps: list[Step]) -> None:
    """Add to ``steps`` the edits that give other services the lines of ``difference``.

    Descriptions come from the kept rows of revision ``rows``.
    """
    came, went = (_words(lines) for lines in (difference.added, difference.removed))
    for name in sorted(came.keys() | went.keys()):
        added, removed = came.get(name, set()), went.get(name, set())
        stored = await services.named(connection, name)
        record = ("service", name)
        if {NOBODY, REGISTERED} & removed and not {NOBODY, REGISTERED} & added:
            if stored is not None:
                steps.append(Step("service", "delete", record, stored.id))
        elif stored is None:
            past = await policy_row_history.service_at(connection, rows, name)
            given = {"name": name, "description": past and seen(past, lines=True), **_router(added)}
            steps.append(creation("service", record, given, *_ROUTER))
        else:
            now = {word for field, word in _ROUTER.items() if getattr(stored, field)}
            steps.append(update("service", record, stored, **_router(now - removed | added)))


def _words(lines: list[PublishedLine]) -> dict[str, set[str]]:
    words: dict[str, set[str]] = {}
    for line in lines:
        if line.layer == SERVICE and " " not in line.object:
            words.setdefault(line.object, set()).add(line.code)
    return words


def _router(words: set[str]) -> dict[str, bool]:
    return {field: word in words for field, word in _ROUTER.items()}
