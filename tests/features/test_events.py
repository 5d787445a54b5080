"""Events of the trunk: who listens and in which order, and the triggers of features on its tables."""

import re
from importlib import import_module
from typing import Final

import psycopg

from docs.site.made import parts
from service.administration.events import TRIGGERS
from service.kernel.events import events
from service.kernel.feature import declared
from tests.docs.pages import rows
from tests.support.cases import with_each
from tests.support.running import ROOT

LISTENERS: Final[dict[str, list[str]]] = {
    "all-sessions-end": [
        "personal_keys.store:end_with_sessions",
        "agents.store:end_with_sessions",
        "events.store:sessions_end",
    ],
    "account-leaves": ["access_requests.ending:account_leaves"],
    "before-account-edit": ["directories.managed:require_unmanaged"],
    "before-roles-taken": ["directories.managed:refuse_directory_roles"],
    "change-begins": ["access_requests.appointing:watch"],
    "lines-published": ["policy_history.store_row_history:lines_published"],
    "role-changes": ["access_requests.ending:role_changes"],
}
"""Every event, with all its listeners in the order in which they are called."""

MOST: Final = 10
_DECLARES: Final = re.compile(r"= Event\(\s*\"([a-z-]+)\"")
_OF_THE_CORE: Final = re.compile(r"codes_|rights_|need_version_|require_|keep_")
"""Triggers that the core has for itself, and those by which a capability keeps its own tables."""


def declaring() -> dict[str, str]:
    """Return the events that sources of the service declare, with the modules that do."""
    return {
        name: ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "service").rglob("*.py")
        for name in _DECLARES.findall(path.read_text("utf-8"))
    }


@with_each("name", LISTENERS)
def test_an_event_has_these_listeners_in_this_order(name: str) -> None:
    import_module(declaring()[name])
    expected = []
    for listener in LISTENERS[name]:
        module, _, function = listener.partition(":")
        expected.append(getattr(import_module(f"service.features.{module}"), function))
    assert [*events()[name].listeners] == expected


def test_features_listen_to_events_that_there_are() -> None:
    assert set(declaring()) == set(LISTENERS)
    assert len(LISTENERS) <= MOST
    assert {name for feature in declared() for name in feature.listens} <= set(LISTENERS)


def test_the_page_prints_every_event_and_every_trigger() -> None:
    for module in declaring().values():
        import_module(module)
    printed = rows(parts()["events"])
    names = [*sorted(LISTENERS), *(f"{trigger.name}` on `{trigger.table}" for trigger in TRIGGERS)]
    assert [row[0] for row in printed] == names
    assert all(all(row) for row in printed)
    assert "<!-- made: events -->" in (ROOT / "docs/explanation/architecture.md").read_text("utf-8")


def test_the_database_has_these_triggers_of_features_and_no_others(seeded_database_url: str) -> None:
    with psycopg.connect(seeded_database_url) as connection:
        stored = connection.execute(
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE NOT tgisinternal AND tgparentid = 0 AND relnamespace = 'sys'::regnamespace"
        ).fetchall()
    assert sorted((name, table) for name, table in stored if not _OF_THE_CORE.match(name)) == sorted(
        (trigger.name, trigger.table) for trigger in TRIGGERS
    )
