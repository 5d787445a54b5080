"""A provider that is compromised is cut off by one command."""

import asyncio
import os
import tempfile
from functools import partial
from pathlib import Path

from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.inside import Inside
from tests.support.members import member, query
from tests.support.running import portcullis


async def cut_off(front: Inside, *words: str, provider: HostileProvider | None = None) -> tuple[int, str]:
    """Run the command, with the provider ``good`` in its settings if there is one."""
    providers = [provider_settings(provider, "good")] if provider else []
    environ = variables(*providers) | {
        "PORTCULLIS_CONFIG": "",
        "DATABASE_URL": front.database_url,
        "REDIS_URL": front.redis_url,
        "JWT_SECRET": os.urandom(48).hex(),
    }
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        run = partial(portcullis, Path(folder), "directory", "cut-off", *words, **environ)
        done = await asyncio.to_thread(run)
    return done.status, done.output + done.errors


async def test_a_provider_that_the_settings_name_no_more_is_cut_off_where_it_knows_somebody(
    front: Inside, provider: HostileProvider
) -> None:
    token = await Browser(front, provider).sign_in()
    await query(
        front, "UPDATE sys.directory_account SET source = 'former' WHERE subject = %s", provider.subject
    )
    await query(
        front, "UPDATE sys.directory_session SET source = 'former' WHERE subject = %s", provider.subject
    )
    status, output = await cut_off(front, "former")
    assert status == 0, output
    assert "former is cut off; 1 session" in output
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 401


async def test_a_provider_is_cut_off_with_its_sessions_and_roles(
    front: Inside, provider: HostileProvider
) -> None:
    browser = Browser(front, provider)
    role = f"r{provider.subject}"
    heron = await member(front, role, "system:file:list")
    mapping = [{"group": "Readers", "roles": [role]}]
    body = {"kind": "oidc", "mapping": mapping, "ceiling": ["system:file:list"]}
    await front.data("PUT", "/api/directory/good", body)
    provider.changes = {"groups": ["Readers"]}
    token = await browser.sign_in()
    assert (await front.ask("GET", "/api/file/list", token=token)).status == 200

    status, output = await cut_off(front, "good", "--roles")
    assert status == 0, output
    assert "good is cut off; 1 session" in output
    assert (await front.ask("GET", "/api/file/list", token=token)).status == 401
    assert (await heron.ask("GET", "/api/file/list")).status == 200
    assert (await browser.redeem(await browser.code())).code == "sign_in_failed"
    stored = await front.data("GET", "/api/directory/good")
    assert (stored["enabled"], stored["mapping"]) == (False, mapping)
    assigned = await front.data("GET", "/api/assignment/list?source=directory")
    assert assigned["items"] == []
    log = await front.data("GET", "/api/operation-log/list?module=directory")
    assert "cut off" in {entry["action"] for entry in log["items"]}


async def test_a_directory_that_nobody_knows_is_not_cut_off(front: Inside) -> None:
    status, output = await cut_off(front, "nobody")
    assert status == 1
    assert "There is no such directory" in output
