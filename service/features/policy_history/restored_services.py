"""Plans the creation, edits and deletion of other services in a restore."""

from service.authz.engine.rules import (
    ALLOW_PREFLIGHT,
    IGNORE_CASE,
    IGNORE_TRAILING_SLASH,
    NOBODY,
    REGISTERED,
    SERVICE,
)
from service.features.policy_history.restore_steps import create_service, delete_service, update_service
from service.features.policy_history.steps import Step
from service.kernel.text import seen
from service.records import services
from service.records.database.transactions import Connection
from service.records.published import policy_row_history
from service.records.published.policy_history import Difference, PublishedLine
from service.records.services import ServiceValues


async def plan_services(connection: Connection, rows: int, difference: Difference, steps: list[Step]) -> None:
    """Add to ``steps`` the edits that give other services the lines of ``difference``.

    Descriptions come from the kept rows of revision ``rows``.
    """
    came, went = (_words(lines) for lines in (difference.added, difference.removed))
    for name in sorted(came.keys() | went.keys()):
        added, removed = came.get(name, set()), went.get(name, set())
        stored = await services.named(connection, name)
        if {NOBODY, REGISTERED} & removed and not {NOBODY, REGISTERED} & added:
            if stored is not None:
                steps.append(delete_service(stored))
        elif stored is None:
            past = await policy_row_history.service_at(connection, rows, name)
            steps.append(create_service(name, _values(added, past and seen(past, lines=True))))
        else:
            router = stored.router
            now = {
                word
                for word, is_so in (
                    (IGNORE_CASE, router.ignore_case),
                    (IGNORE_TRAILING_SLASH, router.ignore_trailing_slash),
                    (ALLOW_PREFLIGHT, router.allow_preflight),
                )
                if is_so
            }
            steps.append(update_service(stored, _values(now - removed | added, stored.description)))


def _words(lines: list[PublishedLine]) -> dict[str, set[str]]:
    words: dict[str, set[str]] = {}
    for line in lines:
        if line.layer == SERVICE and " " not in line.object:
            words.setdefault(line.object, set()).add(line.code)
    return words


def _values(words: set[str], description: str | None) -> ServiceValues:
    return ServiceValues(
        description, IGNORE_CASE in words, IGNORE_TRAILING_SLASH in words, ALLOW_PREFLIGHT in words
    )
