"""Past revisions that somebody has changed are believed nowhere, and what was forged is found and mended."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from service.authz.publishing.shipped import configured
from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import LaunchError
from service.server.prepare import publish_policy
from service.settings import load
from tests.service.conftest import variables_for
from tests.support.databases import NewDatabase, database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.members import query
from tests.support.running import Ended, portcullis

KEY = "a key that only the service has, and an auditor"
TOKEN = "mX3-" * 8
VARIABLES = {"PORTCULLIS_OPLOG__CHAIN_KEY": KEY, "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN}
REPORT = {"resourceName": "Read", "resourceCode": "report", "method": "GET", "path": "/api/report/{id}"}
QUESTION = {"method": "GET", "path": "/api/report/7", "permissions": []}
LINES = "its lines in the history differ from the published lines"


@dataclass(frozen=True)
class Kept:
    """A service with a key, whose revisions ``first``, ``second`` and ``third`` are sealed."""

    service: Inside
    variables: dict[str, str]
    first: int
    second: int
    third: int


async def until_revision(service: Inside, revision: int) -> None:
    async with asyncio.timeout(20):
        while (await service.data("GET", "/api/policy"))["revision"] != revision:  # noqa: ASYNC110 - of another task
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
async def sealed_template(stores: EmbeddedStores, published_template: str) -> AsyncIterator[str]:
    """The name of a database with sealed revisions, to copy from; nobody may connect to it."""
    name = f"sealed_{os.getpid()}"
    with database(stores, published_template, name) as url:
        with session_store(stores) as redis_url:
            async with inside_published(url, redis_url, **VARIABLES) as service:
                # Revision 1 has no seal; all workers can make one, so the next one has, and must.
                await until_revision(service, 2)
                made = await service.data("POST", "/api/resource", REPORT)
                await service.data("DELETE", f"/api/resource/{made['id']}", None, ("If-Match", "*"))
        yield name


@pytest.fixture
async def kept(new_database: NewDatabase, sealed_template: str, redis_url: str) -> AsyncIterator[Kept]:
    url = new_database(sealed_template)
    async with inside_published(url, redis_url, **VARIABLES) as service:
        yield Kept(service, variables_for(url, redis_url) | VARIABLES, 2, 3, 4)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE sys.policy_line SET code = '@anyone' WHERE object = 'GET /api/report/{id}'", LINES),
        ("DELETE FROM sys.policy_line WHERE object = 'GET /api/report/{id}'", LINES),
        ("UPDATE sys.policy_line SET since = 2 WHERE object = 'GET /api/report/{id}'", None),
        (
            "UPDATE sys.policy_revision SET user_name = 'somebody' WHERE revision = 3",
            "its seal does not match its content",
        ),
        (
            "UPDATE sys.policy_revision SET seals = NULL, sealed_from = NULL WHERE revision = 3",
            "it has no seal, although every revision since 2 has one",
        ),
    ],
)
async def test_a_past_revision_that_was_changed_is_not_explained_compared_or_restored(
    kept: Kept, statement: str, reason: str | None
) -> None:
    service, changed = kept.service, kept.second if reason else kept.first
    message = f"Revision {changed} differs from its published version: {reason or LINES}"
    explained = QUESTION | {"revision": changed}
    restore = f"/api/policy/revisions/{changed}/restore"
    assert (await service.ask("POST", "/api/policy/explain", explained)).status == 200
    await query(service, statement)

    answers = [
        await service.ask("POST", "/api/policy/explain", explained),
        await service.ask("GET", f"/api/policy/diff?from={changed}&to={kept.third}"),
        await service.ask("GET", f"/api/policy/diff?from={kept.third}&to={changed}&access=true"),
        await service.ask("POST", f"{restore}?dryRun=true"),
        await service.ask("POST", restore),
    ]

    assert {(answer.status, answer.code, answer.json["detail"]) for answer in answers} == {
        (409, "revision_untrusted", message)
    }
    shown = await service.data("GET", f"/api/policy/revisions/{changed}")
    assert (shown["authenticity"], shown["distrust"]) == ("forged", reason or LINES)
    assert (shown["addedLines"], shown["removedLines"]) == (None, None)
    # Others can still be asked about, unless they were made from the one that was changed.
    unchanged = kept.first if reason else kept.second
    assert (
        await service.ask("POST", "/api/policy/explain", QUESTION | {"revision": unchanged})
    ).status == 200


async def test_the_list_of_revisions_says_which_are_as_they_were_published(kept: Kept) -> None:
    await query(kept.service, "UPDATE sys.policy_revision SET cause = 'start' WHERE revision = 3")

    page = await kept.service.data("GET", "/api/policy/revisions")

    assert [(revision["revision"], revision["authenticity"]) for revision in page["items"]] == [
        (4, "sealed"),
        (3, "forged"),
        (2, "sealed"),
        (1, "unsealed"),
    ]


async def test_commands_believe_no_past_revision_that_was_changed_either(kept: Kept, tmp_path: Path) -> None:
    await query(
        kept.service,
        "UPDATE sys.policy_line SET code = '@anyone' WHERE object = 'GET /api/report/{id}'",
    )

    def run(*arguments: str) -> Ended:
        return portcullis(tmp_path, "policy", *arguments, **kept.variables)

    question = ("explain", "--codes", "", "GET", "/api/report/7", "--policy", "3")
    asked = await asyncio.to_thread(run, *question)
    compared = await asyncio.to_thread(run, "diff", "3", "4")
    log = await asyncio.to_thread(run, "log")

    message = f"portcullis: Revision 3 differs from its published version: {LINES}\n"
    assert [(ended.status, ended.errors) for ended in (asked, compared)] == [(1, message)] * 2
    lines = log.output.splitlines()
    at = next(place for place, line in enumerate(lines) if "revision 3: " in line)
    assert lines[at + 1 : at + 2] == [f"    NOT as it was published: {LINES}"]
    assert not any("@anyone" in line for line in lines if "assurance" not in line)


def verified(folder: Path, variables: dict[str, str], *arguments: str) -> Ended:
    return portcullis(folder, "audit", "verify", *arguments, **variables)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("SELECT 1", None),
        (
            "UPDATE sys.policy_revision SET user_name = 'somebody' WHERE revision = 3",
            "revision 3: its seal does not match its content",
        ),
        (
            "DELETE FROM sys.policy_revision WHERE revision = 3",
            "revision 3 was removed, but 4 is based on it",
        ),
        (
            "UPDATE sys.policy_revision SET seals = NULL WHERE revision = 3",
            "revision 3: it has no seal, although every revision since 2 has one",
        ),
        (
            "DELETE FROM sys.policy_line WHERE object = 'GET /api/report/{id}'",
            f"revision 3: {LINES}",
        ),
        (
            "UPDATE sys.policy_revision SET cause = 'another' WHERE revision = 1",
            "revision 1 was changed after 2, which is based on it",
        ),
    ],
)
async def test_the_audit_names_each_revision_that_is_not_as_it_was_published(
    kept: Kept, tmp_path: Path, statement: str, fault: str | None
) -> None:
    await query(kept.service, statement)

    ended = await asyncio.to_thread(verified, tmp_path, kept.variables)

    lines = ended.output.splitlines()
    count = 3 if statement.startswith("DELETE FROM sys.policy_revision") else 4
    state = "CHANGED after publishing" if fault else "unchanged"
    assert lines[0] == f"policy revisions: {count}, {state}, 1 without a seal"
    assert (ended.status, f"  {fault}" in lines) == ((1, True) if fault else (0, False))


async def test_the_audit_finds_a_revision_that_is_gone_by_what_was_kept_elsewhere(
    kept: Kept, tmp_path: Path
) -> None:
    """The session store keeps the newest; lines of the service's log tell each of them."""
    heads = tmp_path / "kept.log"
    heads.write_text('{"event": "head of the policy", "revision": 3, "hash": "00"}\n{"event": "x"}\n')
    whole = await asyncio.to_thread(verified, tmp_path, kept.variables)
    assert whole.status == 0, whole.output

    ended = await asyncio.to_thread(verified, tmp_path, kept.variables, "--heads", str(heads))
    assert "  revision 3 differs from the earlier report" in ended.output.splitlines()


@pytest.mark.feature("metrics")
async def test_a_forged_revision_is_replaced_counted_and_seen_in_metrics_and_audit(
    kept: Kept, tmp_path: Path
) -> None:
    service = kept.service
    await query(
        service,
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
        " SELECT 9999, digest, line_count, 'start' FROM sys.policy_revision WHERE revision = 4",
    )
    await until_revision(service, 10_000)
    # A right that it would have taken away is still decided by what is stored.
    assert (await service.ask("GET", "/api/user/list")).status == 200

    made = await service.data("GET", "/api/policy/revisions/10000")
    metrics = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode().splitlines()
    ended = await asyncio.to_thread(verified, tmp_path, kept.variables)

    assert (made["tampered"], made["authenticity"], made["added"], made["removed"]) == (1, "sealed", 0, 0)
    assert made["cause"].startswith("derived again: revision 9999 was not published here: it has no seal")
    assert "portcullis_policy_tamperings_total 1" in metrics
    assert any(line.startswith("portcullis_policy_untrusted{") and line.endswith(" 0") for line in metrics)
    assert (
        "  revision 9999: it has no seal, although every revision since 2 has one"
        in ended.output.splitlines()
    )
    # The row is evidence; once it is deleted, the chain is whole, and the trace stays.
    await query(service, "DELETE FROM sys.policy_revision WHERE revision = 9999")
    assert (await asyncio.to_thread(verified, tmp_path, kept.variables)).status == 0
    assert (await service.data("GET", "/api/policy/revisions/10000"))["tampered"] == 1


@dataclass(frozen=True)
class Sealed:
    """A database whose revision 1 is sealed, without a running service."""

    url: str
    variables: dict[str, str]

    def start(self, **variables: str) -> int:
        """Publish as a start does."""
        settings = load({"PORTCULLIS_CONFIG": ""} | self.variables | variables)
        return publish_policy(settings, configured(settings)).revision

    def forge(self) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute("UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list'")
            connection.execute(
                "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
                " SELECT 2, digest, line_count, cause FROM sys.policy_revision"
            )


@pytest.fixture
def sealed(seeded_database_url: str, redis_url: str) -> Sealed:
    started = Sealed(seeded_database_url, variables_for(seeded_database_url, redis_url) | VARIABLES)
    assert started.start() == 1
    return started


def test_a_start_replaces_a_forged_revision_and_is_refused_where_the_key_is_not_set(sealed: Sealed) -> None:
    assert sealed.start() == 1
    sealed.forge()
    assert sealed.start() == 3

    for key in ("", "another key, of as many characters as a key has"):
        with pytest.raises(LaunchError, match=r"Revision 3 of the policy must be sealed.*policy republish"):
            sealed.start(PORTCULLIS_OPLOG__CHAIN_KEY=key)
    replaced = {
        "PORTCULLIS_OPLOG__CHAIN_KEY": "another key, of as many characters as a key has",
        "PORTCULLIS_OPLOG__CHAIN_PREVIOUS_KEY": KEY,
    }
    assert sealed.start(**replaced) == 3  # sealed by both from now on
    assert sealed.start(PORTCULLIS_OPLOG__CHAIN_KEY=replaced["PORTCULLIS_OPLOG__CHAIN_KEY"]) == 3


def test_the_operator_publishes_anew_what_is_stored(sealed: Sealed, tmp_path: Path) -> None:
    sealed.forge()

    done = portcullis(tmp_path, "policy", "republish", **sealed.variables)

    assert (done.status, done.output.partition(":")[0]) == (0, "Revision 3, sealed"), done.errors
    assert "the policy was published anew by the operator" in done.errors
    with psycopg.connect(sealed.url) as connection:
        (entry,) = connection.execute("SELECT action, policy_revision FROM sys.operation_log").fetchall()
        (made,) = connection.execute(
            "SELECT tampered, prior_revision FROM sys.policy_revision WHERE revision = 3"
        ).fetchall()
    assert (entry, made) == (("republish", 3), (3, 1))


def test_a_lost_key_is_given_up_by_the_operator_alone(sealed: Sealed, tmp_path: Path) -> None:
    keyless = sealed.variables | {"PORTCULLIS_OPLOG__CHAIN_KEY": ""}
    synced = portcullis(tmp_path, "policy", "sync", **keyless)
    refused = portcullis(tmp_path, "policy", "republish", **keyless)
    unread = portcullis(tmp_path, "policy", "who", "GET", "/api/user/list", **keyless)
    assert (synced.status, refused.status, unread.status) == (1, 1, 1)
    assert "with a key that is not configured here: set oplog.chain_key" in unread.errors
    assert "must be sealed with a key that is not configured here" in synced.errors
    assert "repeat this with --without-key if no node has a key any more" in refused.errors

    done = portcullis(tmp_path, "policy", "republish", "--without-key", **keyless)

    assert (done.status, done.output.partition(":")[0]) == (0, "Revision 2, without a seal"), done.errors
    assert sealed.start(PORTCULLIS_OPLOG__CHAIN_KEY="") == 2
    # Another key begins anew, and so does the same one: what was published without it is replaced.
    another = "another key, of as many characters as a key has"
    assert sealed.start(PORTCULLIS_OPLOG__CHAIN_KEY=another) == 3
