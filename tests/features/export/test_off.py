"""A service that exports nothing says so, holds back what destinations lack, and loses nothing."""

import json
from pathlib import Path

import psycopg
import pytest

from service.administration.jobs import all_jobs
from service.features.operations.checks import checks_for
from service.operator.errors import UnpreparedError
from service.server.prepare import check, publish_policy
from service.settings import SettingsError, load
from tests.features.export.conftest import SECRET
from tests.features.metrics.test_metrics import TOKEN
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published, settings_of

OFF = {"PORTCULLIS_FEATURES__OFF": "export"}
DESTINATION = json.dumps({"siem": {"url": "https://siem.example.com", "secret": SECRET}})


def faults(**variables: str) -> list[str]:
    try:
        load({"PORTCULLIS_CONFIG": "", **variables})
    except SettingsError as error:
        return [fault.name for fault in error.faults]
    return []


def test_a_destination_or_a_decision_log_is_refused_that_would_silently_get_nothing(tmp_path: Path) -> None:
    where = {
        "PORTCULLIS_EXPORT__DESTINATIONS": DESTINATION,
        "PORTCULLIS_POLICY__DECISION_LOG": str(tmp_path / "decisions.jsonl"),
    }
    assert faults(**where) == []
    assert faults(**OFF) == []
    assert faults(**where, **OFF) == ["policy.decision_log", "export.destinations"]
    assert faults(**where, PORTCULLIS_FEATURES__OFF="all") == ["policy.decision_log", "export.destinations"]
    with pytest.raises(SettingsError) as refused:
        load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_POLICY__DECISION_LOG": "stdout", **OFF})
    assert "policy.decision_log: needs the feature export, which features.off names" in str(refused.value)
    with pytest.raises(SettingsError) as refused:
        load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_EXPORT__DESTINATIONS": DESTINATION, **OFF})
    assert SECRET not in str(refused.value)


def test_its_job_and_its_check_are_absent() -> None:
    for off, present in ((OFF, False), ({}, True)):
        chosen = load({"PORTCULLIS_CONFIG": "", **off})
        assert ("expired-dead-letters" in {job.name for job in all_jobs(chosen)}) is present
        assert ("export" in {each.name for each in checks_for(chosen.features.off)}) is present


async def test_a_worker_writes_its_logs_as_ever(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    metrics = {"PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN}
    async with inside_published(url, redis_url, **OFF, **metrics) as service:
        assert (await service.ask("PUT", "/api/user/profile", {"nickName": "Anew"})).status in (200, 204)
        text = (await service.ask("GET", "/metrics", token=TOKEN)).body.decode()
        assert "portcullis_export_" not in text
        assert "portcullis_decision_events_total{" not in text
    with psycopg.connect(url) as connection:
        (count,) = connection.execute("SELECT count(*) FROM sys.operation_log").fetchone() or (0,)
    assert count > 0


def test_a_start_refuses_while_a_destination_has_state_or_entries_wait(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    chosen = settings_of(url, redis_url, OFF)
    publish_policy(chosen, check(chosen))
    with psycopg.connect(url, autocommit=True) as connection:
        for table, columns, values in (
            ("export_destination", "name", "'siem'"),
            (
                "export_dead_letter",
                "destination, log, event_id, reason, entry",
                "'siem', 'logins', gen_random_uuid(), '', '{}'",
            ),
            ("export_decision", "event_id, event", "gen_random_uuid(), '{}'"),
        ):
            connection.execute(f"INSERT INTO sys.{table} ({columns}) VALUES ({values})")
            with pytest.raises(UnpreparedError, match=r"export, but destinations .* \(1 in the database"):
                publish_policy(chosen, check(chosen))
            connection.execute(f"DELETE FROM sys.{table}")
    publish_policy(chosen, check(chosen))
