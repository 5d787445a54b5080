"""A large installation for the benchmark of the console, written by SQL in half a minute."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import psycopg
import uvloop

from service.authz.publishing.shipped import read_shipped
from service.keyspace import SessionFacts, SessionStore
from service.server.prepare import publish_policy
from service.settings import load
from tests.benchmarks.users import USERS
from tests.support.seeded import make_months, seed_database


@dataclass(frozen=True)
class Size:
    """How many there are of each kind."""

    users: int = 20_000
    roles: int = 500
    menus: int = 2_000
    resources: int = 10_000
    entries: int = 200_000
    files: int = 1_000
    sessions: int = 5_000
    revisions: int = 1_000


LARGE: Final = Size()
MEDIUM: Final = Size(5_000, 100, 400, 1_000, 5_000, 200, 500, 100)
SMALL: Final = Size(100, 10, 100, 100, 1_000, 20, 20, 10)

SERVICES: Final = 20
ROLES: Final = """
INSERT INTO sys.role (role_name, role_name_key, role_code, description)
SELECT 'Team ' || n, 'team ' || n, 'team-' || n, 'What team ' || n || ' may do'
FROM generate_series(1, {roles}) n
"""
MENUS: Final = """
INSERT INTO sys.menu (menu_type, title, name, path, bit_position, sort)
SELECT 'Menu', 'Area ' || n, 'area' || n, '/area' || n, NULL, 1000 + n
FROM generate_series(1, {menus} / 100) n;
INSERT INTO sys.menu (menu_type, parent_id, title, name, path, bit_position, sort)
SELECT 'Menu', above.id, above.title || ', page ' || n, above.name || '-page' || n,
    above.path || '/page' || n, NULL, n
FROM sys.menu above, generate_series(1, 19) n WHERE above.name ~ '^area[0-9]+$';
INSERT INTO sys.menu (menu_type, parent_id, title, auth_mark, bit_position, sort)
SELECT 'Button', above.id, 'Do ' || n, replace(above.name, '-', ':') || ':do' || n,
    1000 + row_number() OVER (), n
FROM sys.menu above, generate_series(1, 4) n WHERE above.name ~ '^area[0-9]+-page[0-9]+$'
"""
GIVEN: Final = """
INSERT INTO sys.role_menu
SELECT r.id, m.id FROM sys.role r, sys.menu m
WHERE r.role_code LIKE 'team-%' AND m.name ~ '^area' AND (m.id * 31 + r.id * 17) % 10 = 0
    OR r.role_code LIKE 'team-%' AND m.auth_mark LIKE 'area%' AND (m.parent_id * 31 + r.id * 17) % 10 = 0
    OR r.role_code = 'super' AND (m.name ~ '^area' OR m.auth_mark LIKE 'area%')
"""
MEMBERS: Final = """
INSERT INTO sys.user_role
SELECT DISTINCT u.id, first.id + (u.id * 7919 + n * 104729) % {roles}
FROM sys."user" u, generate_series(1, 2) n,
    (SELECT min(id) AS id FROM sys.role WHERE role_code LIKE 'team-%') first
WHERE u.password_hash = 'x'
"""
RESOURCES: Final = """
INSERT INTO sys.service (name, description)
SELECT 'service-' || n, 'The service number ' || n FROM generate_series(1, {services}) n;
INSERT INTO sys.resource (service, resource_name, resource_code, method, path)
SELECT CASE WHEN n % 5 = 0 THEN 'portcullis' ELSE 'service-' || 1 + n % {services} END,
    'Thing ' || n, 'thing.' || n, (ARRAY['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])[1 + n % 7 % 5],
    '/api/area' || n % 50 || '/thing' || n || '/{{id}}'
FROM generate_series(1, {resources}) n;
INSERT INTO sys.action_resource
SELECT r.id, b.id FROM sys.resource r, LATERAL (
    SELECT id FROM sys.menu WHERE auth_mark LIKE 'area%' AND (id * 31 + r.id * 17) % ({menus} / 4) = 0
) b WHERE r.resource_code LIKE 'thing.%' AND r.id % 10 > 0;
INSERT INTO sys.opening (resource_id, code)
SELECT id, CASE WHEN id % 3 = 0 THEN '@anyone' ELSE '@login' END FROM sys.resource
WHERE resource_code LIKE 'thing.%' AND id % 10 = 0 AND service <> 'portcullis'
"""
ENTRIES: Final = """
INSERT INTO sys.operation_log (create_time, event_id, request_id, user_id, user_name, device, module, action,
    kind, method, url, client_ip, user_agent, status, error, elapsed_ms, decision, decision_id,
    policy_revision)
SELECT now() - interval '12 seconds' * n, uuidv7(), md5(n::text), n % 997, 'user' || n % 997, 'web',
    (ARRAY['user', 'role', 'menu', 'file', 'auth'])[1 + n % 5], 'create',
    (ARRAY['INSERT', 'UPDATE', 'DELETE'])[1 + n % 3], 'POST', '/api/thing/' || n, inet '10.0.0.0' + n % 65521,
    'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0', CASE WHEN n % 53 = 0 THEN 403 ELSE 200 END,
    CASE WHEN n % 53 = 0 THEN 'permission_denied' END, 3.5, CASE WHEN n % 53 = 0 THEN 'deny' ELSE 'allow' END,
    'r12-9be1a6f0-5f0c39d1a2b4', 1
FROM generate_series(1, {entries}) n;
INSERT INTO sys.login_log (create_time, event_id, request_id, event, outcome, reason, user_id, user_name,
    device, login_ip, user_agent, browser, os)
SELECT now() - interval '12 seconds' * n, uuidv7(), md5(n::text), 'login',
    CASE WHEN n % 53 = 0 THEN 'failure' ELSE 'success' END, CASE WHEN n % 53 = 0 THEN 'bad_credentials' END,
    n % 997, 'user' || n % 997, 'web', inet '10.0.0.0' + n % 65521,
    'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0', 'Firefox 145', 'Linux'
FROM generate_series(1, {entries}) n
"""
FILES: Final = """
INSERT INTO sys.file (key, name, size, sha256, content_type, owner_id)
SELECT md5(n::text), 'file ' || n || '.pdf', n * 1000, repeat('0', 64), 'application/pdf',
    (SELECT id FROM sys."user" ORDER BY id LIMIT 1)
FROM generate_series(1, {files}) n
"""
REVISIONS: Final = """
INSERT INTO sys.policy_revision (revision, digest, line_count, cause, create_time, user_name, added,
    removed)
SELECT n + 1, 'bench' || n, 300, 'made', now() - interval '1 day' + interval '1 minute' * n, 'admin', 1, 0
FROM generate_series(1, {revisions}) n
"""
STATEMENTS: Final = (USERS, ROLES, MENUS, GIVEN, MEMBERS, RESOURCES, ENTRIES, FILES, REVISIONS)


def install(environ: Mapping[str, str], size: Size) -> None:
    """Prepare an installation as a start does, fill it, and open the sessions of its users."""
    settings = load(environ)
    seed_database(settings.database.url)
    uvloop.run(make_months(settings.database.url))
    publish_policy(settings, read_shipped())
    numbers = {**size.__dict__, "services": SERVICES, "size": size.users}
    with psycopg.connect(settings.database.url, autocommit=True) as connection:
        for statement in STATEMENTS:
            connection.execute(statement.format(**numbers).encode())
        connection.execute("VACUUM ANALYZE")
        users = connection.execute(
            'SELECT id, user_name FROM sys."user" WHERE id > 1 ORDER BY id LIMIT %s', [size.sessions]
        ).fetchall()
    publish_policy(settings, read_shipped())
    uvloop.run(_open_sessions(environ, users))


async def _open_sessions(environ: Mapping[str, str], users: list[tuple[int, str]]) -> None:
    settings = load(environ)
    async with SessionStore(settings.redis, settings.auth) as store:

        async def opened(number: int, name: str) -> None:
            facts = SessionFacts(
                name, name.title(), f"10.0.{number >> 8 & 255}.{number & 255}", "bench", "", ""
            )
            await store.open_session(str(number), "web", f"{number:024d}", facts, seen=b"")

        async with asyncio.timeout(120):
            for start in range(0, len(users), 500):
                await asyncio.gather(*(opened(*user) for user in users[start : start + 500]))
