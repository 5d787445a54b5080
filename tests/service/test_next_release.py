"""This version serves on the schema of a later release that only adds to it: during an upgrade, and after."""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from service import __version__
from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import engine
from service.records.installation.migrate import prepare
from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.databases import database
from tests.support.inside import inside
from tests.support.running import ROOT, Running, command, environment, portcullis
from tests.support.unstarted import COVERED

NEXT = "0.99.0"
NEWEST = max(path.name.split("_")[0] for path in (ROOT / "service").glob("**/v[0-9]*_*.py"))
ADDED = """
DO $$ DECLARE one text; BEGIN
    FOR one IN SELECT oid::regclass FROM pg_class WHERE relnamespace = 'sys'::regnamespace AND relkind IN
        ('r', 'p') AND NOT relispartition AND relname <> 'alembic_version'
    LOOP
        EXECUTE 'ALTER TABLE ' || one || ' ADD COLUMN added_later text NOT NULL DEFAULT 0';
    END LOOP;
END $$;
CREATE TABLE sys.made_later (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
"""
STEP = f"""'''What a later release might add.'''

from alembic import op

revision = "v9001"
down_revision = "{NEWEST}"
kind = "expand"
least_version = "{__version__}"


def upgrade() -> None:
    op.execute({ADDED!r})
"""


def added_by_the_next_release(url: str) -> None:
    """Migrate the database as the next release would."""
    with engine(url).begin() as connection:
        connection.exec_driver_sql(ADDED)
        connection.execute(text("UPDATE sys.alembic_version SET version_num = 'v9001'"))
        connection.execute(text("UPDATE sys.schema_support SET migrated_by = :version"), {"version": NEXT})


async def test_this_version_starts_and_works_where_every_table_has_a_column_that_it_does_not_know(
    seeded_database_url: str, redis_url: str
) -> None:
    added_by_the_next_release(seeded_database_url)
    assert not prepare(seeded_database_url, lambda: pytest.fail("nothing is seeded"), COVERED, ()).new
    async with inside(seeded_database_url, redis_url) as service:
        menu = await service.data("POST", "/api/menu", {"menuType": "Menu", "title": "Gate"})
        button = {"menuType": "Button", "title": "Open", "authMark": "gate:open", "parentId": menu["id"]}
        opening = await service.data("POST", "/api/menu", button)
        role = await service.data("POST", "/api/role", {"roleName": "Guard", "roleCode": "guard"})
        await service.data(
            "PUT", f"/api/role/{role['id']}/permissions", {"menuIds": [menu["id"], opening["id"]]}
        )
        resource = {"resourceName": "Gate", "resourceCode": "gate", "method": "GET", "path": "/api/gate"}
        made = await service.data("POST", "/api/resource", resource)
        await service.data("PUT", f"/api/resource/{made['id']}/buttons", {"menuIds": [opening["id"]]})
        assert (await service.data("GET", "/api/policy"))["revision"] > 1
        assert (await service.ask("DELETE", f"/api/resource/{made['id']}")).status == 200
        ready = await service.as_anonymous("GET", "/health/ready")
        assert ready.status == 200, ready.body


@pytest.fixture
def next_release(tmp_path: Path) -> Path:
    """A copy of this checkout that has a further migration and a later version."""
    copy = tmp_path / "next"
    shutil.copytree(ROOT / "service", copy / "service", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("model.conf", "policies"):
        (copy / name).symlink_to(ROOT / name)
    about = copy / "service" / "__init__.py"
    about.write_text(re.sub(r"__version__ = .*", f'__version__ = "{NEXT}"', about.read_text()))
    (copy / "service/records/migrations/versions/v9001_later.py").write_text(STEP)
    return copy


@pytest.fixture
def shared_stores(stores: EmbeddedStores, redis_url: str) -> Iterator[dict[str, str]]:
    """The variables of nodes that share one new database."""
    with database(stores, name="next_release") as url:
        variables = variables_for(url, redis_url)
        yield variables | {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}


@pytest.mark.extended
async def test_nodes_of_this_version_and_of_the_next_serve_side_by_side_under_load(
    tmp_path: Path, next_release: Path, shared_stores: dict[str, str]
) -> None:
    this = [Running(tmp_path, "--workers", "1", **shared_stores)]
    newer: list[Running] = []
    try:
        this[0].wait()
        later = shared_stores | {"PYTHONPATH": str(next_release)}
        checked = subprocess.run(  # noqa: ASYNC221 - nothing else runs yet
            command("db", "check"),
            cwd=tmp_path,
            env=environment(tmp_path, **later),
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 3, checked
        assert f"v9001 (expand, version {__version__} or later can work with it)" in checked.stdout
        with this[0].client() as client:
            token = log_in(client)
        load = asyncio.create_task(asyncio.to_thread(make_roles, this[0], token, "before", 120))
        # Migrates while the other node serves.
        newer.append(Running(tmp_path, "--workers", "1", **later))
        await asyncio.to_thread(newer[0].wait)
        await load
        # A step back: this version starts on the newer schema.
        this[0].stop()
        this.append(Running(tmp_path, "--workers", "1", "--no-migrate", **shared_stores))
        await asyncio.to_thread(this[1].wait)
        await asyncio.gather(
            asyncio.to_thread(make_roles, this[1], token, "this", 120),
            asyncio.to_thread(make_roles, newer[0], token, "next", 120),
        )
        for node in (this[1], newer[0]):
            with node.client() as client:
                page = client.get("/api/role/list", params={"size": 1}, headers=token).json()["data"]
                assert page["total"] >= 360
                assert client.get("/health/ready").status_code == 200
        assert not [line for line in this[1].log + newer[0].log if line["event"] == "the database fails"]
    finally:
        for node in this + newer:
            node.stop()


def make_roles(node: Running, token: dict[str, str], name: str, count: int) -> None:
    with node.client() as client:
        for number in range(count):
            role = {"roleName": f"{name} {number}", "roleCode": f"{name}-{number}"}
            made = client.post("/api/role", json=role, headers=token)
            assert made.status_code == 201, made.text
            read = client.get(f"/api/role/{made.json()['data']['id']}", headers=token)
            assert read.json()["data"]["roleCode"] == f"{name}-{number}"


async def test_a_start_that_is_too_old_for_the_schema_says_so_in_one_sentence(
    tmp_path: Path, shared_stores: dict[str, str], seeded_database_url: str
) -> None:
    with engine(seeded_database_url).begin() as connection:
        connection.execute(text("UPDATE sys.alembic_version SET version_num = 'v9001'"))
        connection.execute(
            text("UPDATE sys.schema_support SET migrated_by = '0.99.0', least_version = '0.98.0'")
        )
    started = portcullis(
        tmp_path, "serve", "--port", "0", **shared_stores | {"DATABASE_URL": seeded_database_url}
    )
    assert started.status == 1
    assert started.errors == (
        "portcullis: The database has schema v9001, made by version 0.99.0. It needs version 0.98.0 or "
        f"later, and this is {__version__}: start version 0.98.0 or later, or restore a backup from before "
        "version 0.99.0\n"
    )
