"""Uses of permissions as the database has them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import psycopg
from psycopg.types.json import Jsonb

from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, read_rules
from service.authz.publishing.shipped import policy_folder
from service.features.decision_log.decision_event import DecisionEvent, event_in

Uses: TypeAlias = dict[int, dict[str, date]]
"""The last day of each code, by the ids of users."""


def stored_uses(database_url: str) -> Uses:
    """Return what is recorded."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT user_id, month, days FROM sys.permission_use ORDER BY month"
        ).fetchall()
    uses: Uses = {}
    for user_id, month, days in rows:
        uses.setdefault(user_id, {}).update(
            {code: month + timedelta(days=day - 1) for code, day in days.items()}
        )
    return uses


def store_uses(database_url: str, uses: Mapping[int, Mapping[str, date]], *, since_days: int = 400) -> None:
    """Record ``uses`` in place of what is there, as if that had been done for ``since_days``."""
    months: dict[tuple[int, date], dict[str, int]] = {}
    for user_id, codes in uses.items():
        for code, day in codes.items():
            months.setdefault((user_id, day.replace(day=1)), {})[code] = day.day
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM sys.permission_use")
        connection.execute("DELETE FROM sys.use_recording")
        for (user_id, month), days in months.items():
            connection.execute(
                "INSERT INTO sys.permission_use VALUES (%s, %s, %s)", (user_id, month, Jsonb(days))
            )
        connection.execute(
            "INSERT INTO sys.use_recording (since_time) VALUES (now() - %s)", (timedelta(days=since_days),)
        )
        # An installation that is as old: its restore epoch, what its roles give, who has them.
        for change in (
            "UPDATE sys.timeline SET begin_time = now() - interval '500 days'",
            "UPDATE sys.role_code_life SET begin_time = now() - interval '500 days' WHERE end_time IS NULL",
            "UPDATE sys.user_role SET create_time = now() - interval '500 days'",
            "UPDATE sys.api_key SET create_time = now() - interval '500 days'",
        ):
            connection.execute(change)


def days_ago(days: int) -> date:
    """Return the day of UTC that was so many days ago."""
    return datetime.now(UTC).date() - timedelta(days=days)


def logged_uses(log: Path) -> dict[int, set[str]]:
    """Return which codes the allowed decisions of a log have needed, by the ids of users.

    Of requests to Portcullis itself that others ask about, the log does not tell the resource.
    """
    files = (policy_folder(None) / name for name in ("accounts.csv", "endpoints.csv"))
    lines = {(line.layer, line.object): line.code for file in files for line in read_rules(file)}
    uses: dict[int, set[str]] = {}
    for event in map(event_in, log.read_bytes().splitlines()):
        assert event is not None
        if event.outcome == "deny" or event.user_id is None or event.code is None:
            continue
        codes = uses.setdefault(event.user_id, set())
        codes.add(event.code)
        if isinstance(event, DecisionEvent):
            passed = [line.split(", ") for line in event.passed]
            codes.update(code for _, layer, _, code in passed if layer != ASSURANCE)
            codes.update(code for question in event.grants for code in question.codes)
            codes.update(lines[question] for question in event.objects if question.layer == ACCOUNT)
            codes.update(lines[ENDPOINT, f"{edit.method} {edit.template}"] for edit in event.edits)
    return uses
