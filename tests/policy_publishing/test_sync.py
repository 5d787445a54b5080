from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from service.authz.publishing.shipped import configured
from service.errors import Conflict
from service.features.command_line.commands_policy import sync, unlock
from service.features.embedded.stores import EmbeddedStores
from service.records.installation.schema_revision import SchemaError
from service.server.prepare import publish_policy
from service.settings import Settings, load
from service.settings.values import Paths
from tests.support.databases import NewDatabase, database
from tests.support.running import portcullis

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"


def settings_for(url: str) -> Settings:
    stores = {"DATABASE_URL": url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    return load({"PORTCULLIS_CONFIG": "", "JWT_SECRET": SECRET} | stores)


@pytest.fixture
def settings(new_database: NewDatabase, published_template: str) -> Settings:
    return settings_for(new_database(published_template))


def rows(settings: Settings, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(settings.database.url) as connection:
        return connection.execute(query).fetchall()


def execute(settings: Settings, statement: str) -> None:
    with psycopg.connect(settings.database.url) as connection:
        connection.execute(statement)


REGISTERED = "SELECT method || ' ' || path FROM sys.resource ORDER BY 1"
REVISION = "SELECT max(revision) FROM sys.policy_revision"


@dataclass(frozen=True)
class Synced:
    """What a dry run and the sync after it told of a database, and what was registered before."""

    settings: Settings
    before: list[tuple[object, ...]]
    after_dry_run: list[tuple[object, ...]]
    dry_run: list[str]
    output: str


@pytest.fixture(scope="module")
def synced(stores: EmbeddedStores, published_template: str) -> Iterator[Synced]:
    """A database with a resource of no route, a disabled one, a taken code and a disabled Button."""
    with database(stores, published_template) as url:
        settings = settings_for(url)
        execute(
            settings,
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Old', 'old', 'GET', '/api/old/{id}')",
        )
        taken = "resource_code = 'post.api.auth.logout'"
        execute(settings, f"UPDATE sys.resource SET enabled = false, {taken} WHERE path = '/api/role/list'")
        execute(settings, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:resource:bind'")
        publish_policy(settings, configured(settings))
        before = rows(settings, REGISTERED)
        dry_run = sync(settings, dry_run=True)
        after_dry_run = rows(settings, REGISTERED) + rows(settings, REVISION)
        yield Synced(settings, before, after_dry_run, dry_run, "\n".join(sync(settings, dry_run=False)))


def test_a_dry_run_tells_the_differences_and_changes_nothing(synced: Synced) -> None:
    lines = synced.dry_run

    assert "+ PUT /api/resource/{id}  system:resource:update, system:service:resources" in lines
    assert "+ POST /api/auth/logout  login" in lines
    assert not [line for line in lines if "/api/auth/login" in line]
    assert not [line for line in lines if "GET /api/user/list" in line]
    assert " would be registered, 1 can't be, " in lines[-1]
    assert synced.after_dry_run == [*synced.before, (2,)]


def test_a_sync_registers_and_binds_every_guarded_route_in_one_revision(synced: Synced) -> None:
    settings = synced.settings
    bound = rows(
        settings,
        "SELECT m.auth_mark FROM sys.resource r JOIN sys.action_resource a ON a.resource_id = r.id"
        " JOIN sys.menu m ON m.id = a.menu_id"
        " WHERE r.method = 'PUT' AND r.path = '/api/resource/{id}'",
    )
    assert bound == [("system:resource:update",), ("system:service:resources",)]
    entries = rows(settings, "SELECT module, action, url, policy_revision FROM sys.operation_log")
    assert entries == [("resource", "register", "portcullis policy sync", 3)]
    lines = rows(
        settings, "SELECT v2 FROM sys.casbin_rule WHERE v0 = 'resource' AND v1 = 'POST /api/auth/logout'"
    )
    assert lines == [("@login",)]
    assert rows(settings, REVISION) == [(3,)]
    assert sync(settings, dry_run=False)[-1].startswith("0 registered, 1 can't be, ")
    assert rows(settings, REVISION) == [(3,)]


def test_what_fits_no_route_is_named_and_never_deleted(synced: Synced) -> None:
    assert "? GET /api/old/{id}  resource" in synced.output
    assert ("GET /api/old/{id}",) in rows(synced.settings, REGISTERED)


def test_a_route_whose_buttons_are_all_disabled_or_gone_is_not_registered(synced: Synced) -> None:
    refused = "! PUT /api/menu/{id}/resources  not registered: no enabled Button has system:resource:bind"
    assert refused in synced.output
    assert ("PUT /api/menu/{id}/resources",) not in rows(synced.settings, REGISTERED)


def test_a_disabled_resource_counts_as_registered(synced: Synced) -> None:
    assert not [line for line in synced.dry_run if "GET /api/role/list" in line]


def test_codes_of_new_resources_make_way_for_those_that_are_taken(synced: Synced) -> None:
    code = "SELECT resource_code FROM sys.resource WHERE path = '/api/auth/logout'"
    assert rows(synced.settings, code) == [("post.api.auth.logout-2",)]


def test_a_database_without_the_schema_is_refused_in_words(empty_database_url: str) -> None:
    with pytest.raises(SchemaError, match=r"start the service once. If it has run, .* the same --data"):
        sync(settings_for(empty_database_url), dry_run=True)


def test_the_command_line_tells_the_differences(settings: Settings, tmp_path: Path) -> None:
    variables = {
        "DATABASE_URL": settings.database.url,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "JWT_SECRET": SECRET,
    }

    done = portcullis(tmp_path, "policy", "sync", "--dry-run", **variables)

    assert (done.status, done.errors) == (0, "")
    assert "+ PUT /api/resource/{id}  system:resource:update, system:service:resources\n" in done.output


STATEMENT = """\
statements:
  - name: stated
    reason: a test
    only_holders_of: ["x:once"]
    reach: ["GET /api/user/info"]
"""


@pytest.fixture
def stated(settings: Settings, tmp_path: Path) -> Settings:
    """Settings with a statement that holds only while nobody passes, and nothing passes unregistered."""
    path = tmp_path / "stated.yaml"
    path.write_text(STATEMENT, "utf-8")
    policy = replace(settings.policy, unregistered="deny", invariants=Paths([path]))
    return replace(settings, policy=policy)


def test_a_sync_that_breaks_an_invariant_registers_nothing(stated: Settings) -> None:
    execute(stated, "DELETE FROM sys.resource WHERE path = '/api/user/info'")
    publish_policy(stated, configured(stated))
    before = rows(stated, REGISTERED)

    with pytest.raises(Conflict, match="violate an invariant of the policy: stated"):
        sync(stated, dry_run=False)

    assert rows(stated, REGISTERED) == before


def test_an_unlock_that_breaks_an_invariant_opens_nothing(stated: Settings) -> None:
    execute(stated, "UPDATE sys.resource SET enabled = false WHERE path = '/api/user/info'")
    publish_policy(stated, configured(stated))
    own = "SELECT id, enabled FROM sys.resource WHERE path = '/api/user/info'"
    ((resource_id, _),) = rows(stated, own)
    assert isinstance(resource_id, int)

    with pytest.raises(Conflict, match="violate an invariant of the policy: stated"):
        unlock(stated, resource_id)

    assert rows(stated, own) == [(resource_id, False)]


def test_a_sync_before_the_first_start_is_compared_with_nothing(seeded_database_url: str) -> None:
    settings = settings_for(seeded_database_url)

    sync(settings, dry_run=False)

    assert rows(settings, REVISION) == [(1,)]
