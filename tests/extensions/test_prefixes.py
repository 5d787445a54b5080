"""An extension stays under its own prefix: paths, codes, lines, statements and tables."""

import re
import shutil
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, text

from service.app import check_routes
from service.app.extensions import add_extensions
from service.authz.engine.rules import PolicyError
from service.authz.publishing.shipped import read_shipped
from service.kernel.extension import Extension, ExtensionError, SeedResource, load_extensions
from service.kernel.permission_catalogue import Permission
from service.laboratory.invariants.statements import Exactly
from service.records.installation.extension_tables import migrate_extensions
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login
from service.web.requests.routes import RoutesError
from tests.policies.stock import POLICIES
from tests.support.running import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "orders-admin" / "orders_admin"
BEGINNING = 'from alembic import op\nrevision = "a1"\ndown_revision = None\ndef upgrade():\n'


class Endpoint:
    @login(name="getShop")
    async def on_get(self, context: RequestContext) -> None:
        """Read."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Extension:
    """An extension in a package named ``shop``."""
    (tmp_path / "endpoints.csv").write_text("p, endpoint, GET /api/shop, @login\n")
    made = Extension(
        name="shop",
        title="Shop",
        policies=tmp_path,
        add_routes=lambda routes, _: routes.add("/api/shop", Endpoint()),
    )
    give(monkeypatch, made)
    return made


def give(monkeypatch: pytest.MonkeyPatch, extension: object) -> None:
    package = types.ModuleType("shop")
    package.extension = extension  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop", package)


@pytest.mark.usefixtures("shop")
def test_an_extension_adds_its_lines_and_routes() -> None:
    shipped = read_shipped(extensions=["shop"])

    assert "GET /api/shop" in {operation.object for operation in check_routes(shipped).operations}
    assert shipped.digest != read_shipped().digest


@pytest.mark.usefixtures("shop")
def test_exact_lists_of_openings_need_not_name_those_of_an_extension() -> None:
    (plain,), (wide,) = (
        [
            statement
            for statement in own.invariants.statements
            if isinstance(statement, Exactly) and (statement.word, statement.layer) == ("@login", "endpoint")
        ]
        for own in (read_shipped(), read_shipped(extensions=["shop"]))
    )

    assert set(wide.objects) - set(plain.objects) == {"GET /api/shop"}


@pytest.mark.parametrize(
    "line",
    [
        "p, endpoint, GET /api/user/list, @login",
        "p, endpoint, GET /api/shopping, @login",
        "p, endpoint, GET /api/shop, system:user:list",
        "p, endpoint, GET /api/shop, *",
        "p, resource, @unregistered, @login",
    ],
)
def test_a_line_about_anything_else_is_refused(shop: Extension, line: str) -> None:
    (shop.policies / "endpoints.csv").write_text(f"{line}\n")

    with pytest.raises(PolicyError):
        read_shipped(extensions=["shop"])


def test_a_route_outside_its_prefix_is_refused(shop: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, replace(shop, add_routes=lambda routes, _: routes.add("/api/user/shop", Endpoint())))

    with pytest.raises(RoutesError, match="/api/user/shop is not below /api/shop"):
        check_routes(read_shipped(extensions=["shop"]))


def test_a_prefix_below_which_the_service_has_endpoints_is_refused(
    shop: Extension, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endpoints.csv").write_text("p, endpoint, GET /api/auth/shop, @login\n")
    give(
        monkeypatch,
        replace(shop, name="auth", add_routes=lambda routes, _: routes.add("/api/auth/shop", Endpoint())),
    )

    with pytest.raises(
        RoutesError, match="/api/auth, the prefix of an extension, is reserved for the service"
    ):
        check_routes(read_shipped(extensions=["shop"]))


def test_a_route_without_a_line_is_refused(shop: Extension) -> None:
    (shop.policies / "endpoints.csv").write_text("")

    with pytest.raises(RoutesError, match="GET /api/shop"):
        check_routes(read_shipped(extensions=["shop"]))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "user"}, "reserved for the service"),
        ({"name": "system"}, "reserved for the service"),
        ({"name": "sys"}, "reserved for the service"),
        ({"name": "pg-shop"}, "reserved for the service"),
        ({"name": "Shop"}, "no lower-case words"),
        ({"name": "shop/../user"}, "no lower-case words"),
        ({"permissions": (Permission("system:x:y", "X", ()),)}, "'system:x:y' does not begin with 'shop:'"),
        ({"permissions": (Permission("shop:*", "X", ("GET /api/user/list",)),)}, "not below /api/shop"),
        ({"resources": (SeedResource("user.x", "X", "GET", "/api/shop"),)}, "does not begin with 'shop.'"),
        ({"resources": (SeedResource("shop.x", "X", "GET", "/api/user"),)}, "not below /api/shop"),
    ],
)
def test_names_of_others_are_refused(
    shop: Extension, changes: dict[str, object], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, replace(shop, **changes))  # type: ignore[arg-type]

    with pytest.raises(ExtensionError) as refused:
        load_extensions(["shop"])
    assert complaint in str(refused.value)


def test_no_extension_has_a_name_that_begins_paths_of_the_service(shop: Extension) -> None:
    lines = (POLICIES / "endpoints.csv").read_text()
    names = set(re.findall(r" /api/([a-z-]+)", lines))
    free = [name for name in sorted(names) if not list(replace(shop, name=name).faults())]
    assert "opening" in free
    routes = check_routes(read_shipped())
    nothing: Any = SimpleNamespace(database=None, live=None)
    for name in free:
        with pytest.raises(RoutesError, match="reserved for the service"):
            add_extensions(routes, nothing, [replace(shop, name=name)])


@pytest.mark.parametrize("package", ["no_such_package", "json"])
def test_a_package_without_an_extension_is_refused(package: str) -> None:
    with pytest.raises(ExtensionError, match=package):
        load_extensions([package])


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is not on the path of Python; what is imported from it is forgotten."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_package_is_loaded_by_the_path_of_its_folder(packages: Path) -> None:
    shutil.copytree(EXAMPLE, packages / "orders_admin")
    (packages / "service").mkdir()
    (packages / "service" / "__init__.py").write_text("raise AssertionError('imported')")
    (loaded,) = load_extensions([str(packages / "orders_admin")])
    assert (loaded.name, loaded.policies) == ("orders", packages / "orders_admin" / "policies")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("nowhere", None, "there is no such folder"),
        ("json", "", "json is .*, another package of its name"),
        ("service", "", "service is .*, another package of its name"),
        ("orders_of_shop", "import service.orders", "give one of your own another name"),
    ],
)
def test_a_folder_that_is_not_the_package_that_python_imports_is_refused(
    packages: Path, name: str, text: str | None, complaint: str
) -> None:
    if text is not None:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(text)
    with pytest.raises(ExtensionError, match=complaint):
        load_extensions([str(packages / name)])


@pytest.fixture
def connection(empty_database_url: str) -> Iterator[Connection]:
    engine = create_engine(empty_database_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA sys"))
        connection.execute(text("CREATE TABLE sys.secret (id int)"))
        yield connection
        connection.rollback()
    engine.dispose()


def test_its_tables_are_migrated_once_in_a_schema_of_their_own(
    shop: Extension, tmp_path: Path, connection: Connection
) -> None:
    (tmp_path / "a1.py").write_text(
        f"{BEGINNING}    op.execute('CREATE TABLE shop.item (id int REFERENCES shop.item2)')\n".replace(
            " REFERENCES shop.item2", ""
        )
    )
    shop = replace(shop, migrations=tmp_path)

    assert migrate_extensions(connection, [shop]) is True
    assert migrate_extensions(connection, [shop]) is False
    assert connection.execute(text("SELECT version_num FROM shop.alembic_version")).scalar_one() == "a1"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE sys.item (id int)",
        "ALTER TABLE sys.secret ADD COLUMN x int",
        "DROP TABLE sys.secret",
        "INSERT INTO sys.secret VALUES (1)",
        "GRANT SELECT ON sys.secret TO PUBLIC",
        "CREATE FUNCTION sys.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE RULE r AS ON DELETE TO sys.secret DO INSTEAD NOTHING",
        "CREATE SCHEMA other",
    ],
)
def test_a_migration_that_changes_anything_else_is_refused(
    statement: str, shop: Extension, tmp_path: Path, connection: Connection
) -> None:
    (tmp_path / "a1.py").write_text(f"{BEGINNING}    op.execute({statement!r})\n")

    with pytest.raises(ExtensionError, match="changes objects outside its schema shop"):
        migrate_extensions(connection, [replace(shop, migrations=tmp_path)])
