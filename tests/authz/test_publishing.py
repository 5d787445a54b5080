import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import casbin
import pytest
from sqlalchemy import text

from service.audit.seals import RevisionSeals
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import PolicyError, Rule
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError, published
from service.authz.publishing.publisher import derived_policy, drift, publish_if_changed
from service.authz.publishing.shipped import Shipped, read_shipped
from service.errors import Unavailable
from service.kernel.assurance import Authentication, words_at
from service.kernel.codes import HeldCodes
from service.laboratory.casbin_adapter import PolicyAdapter
from service.laboratory.invariants.statements import Invariants
from service.operator.findings import Installation
from service.records import menus
from service.records.database.transactions import Database, engine
from service.records.published import policy_lines as casbin_rule
from service.records.published import policy_revisions
from service.records.published.policy_lines import Stored
from service.settings import Settings
from tests.policies.stock import MODEL
from tests.support.cases import with_each

SHIPPED = read_shipped()
KEYLESS = RevisionSeals()
LISTER = HeldCodes(["system:role:list"])


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url, timeout=60.0) as opened:
        yield opened


async def publish(
    database: Database, shipped: Shipped = SHIPPED, cause: str = "test", seals: RevisionSeals = KEYLESS
) -> Policy:
    async with database.transaction(within=30) as connection:
        return await publish_if_changed(connection, shipped, seals, cause)


async def execute(database: Database, *statements: str) -> None:
    async with database.transaction() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def stored(database: Database) -> tuple[int, list[Rule]]:
    async with database.snapshot() as connection:
        latest = await policy_revisions.latest(connection)
        lines = published(await connection.run_sync(casbin_rule.stored))
    return latest.revision if latest else 0, list(lines)


def shared_by(policy: Policy) -> list[Rule]:
    return [rule for rule in policy.rules if rule not in SHIPPED.rules]


async def test_before_the_first_load_everything_is_denied() -> None:
    policy = LivePolicy(SHIPPED, RevisionSeals()).current

    assert policy.revision == 0
    assert not policy.judge("resource", "@no-session", None).allowed
    assert not policy.judge("endpoint", "POST /api/auth/login", None).allowed
    assert not policy.judge("resource", "@unregistered", HeldCodes(["*"])).allowed


async def test_nothing_published_is_a_fault_and_denies(database: Database) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())

    with pytest.raises(PolicyError, match="no policy has been published"):
        await live.load(database)

    assert not live.current.judge("endpoint", "POST /api/auth/login", None).allowed


async def test_a_published_policy_decides_by_shipped_and_derived_lines(database: Database) -> None:
    published = await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())

    assert await live.load(database)

    assert (live.current.revision, live.current.digest) == (1, published.digest)
    assert {*SHIPPED.rules} < set(live.current.rules)
    assert live.current.judge("resource", "GET /api/role/list", LISTER).allowed
    assert not live.current.judge("resource", "GET /api/user/list", LISTER).allowed
    assert "system:role:list" in live.current.permission_map.decode(
        live.current.permission_map.encode(["system:role:list"])
    )


async def test_publishing_what_is_published_already_makes_no_revision(database: Database) -> None:
    first, second = await publish(database), await publish(database)

    assert (first.revision, second.revision) == (1, 1)
    assert (await stored(database))[0] == 1


async def test_the_policy_that_publishing_returns_is_the_one_that_others_load(database: Database) -> None:
    await publish(database)
    await execute(database, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:detail'")

    published = await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)

    assert published.revision == live.current.revision == 2
    assert list(published.rules) == list(live.current.rules)
    assert Rule("resource", "GET /api/user/{id}", "@nobody") in published.rules


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("UPDATE sys.resource SET enabled = false WHERE path = '/api/user/list'", None),
        ("DELETE FROM sys.action_resource", "@login"),
        ("UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:list'", "@nobody"),
        (
            "UPDATE sys.menu SET auth_mark = 'system:user:index' WHERE auth_mark = 'system:user:list'",
            "system:user:index",
        ),
    ],
)
async def test_a_change_of_resources_bindings_or_buttons_gives_a_new_revision(
    database: Database, change: str, expected: str | None
) -> None:
    await publish(database)
    await execute(database, change)

    policy = await publish(database)

    codes = list(policy.rules.codes("resource", "GET /api/user/list"))
    assert policy.revision == 2
    assert codes == ([] if expected is None else [expected])


async def test_a_new_button_alone_gives_a_new_revision_since_tokens_are_read_by_it(
    database: Database,
) -> None:
    before = await publish(database)
    await execute(
        database, "INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'New', 'report:list')"
    )

    after = await publish(database)

    assert after.revision == 2
    assert set(after.rules) - set(before.rules) == {
        Rule("grant", "report:list", "report:list"),
        Rule("permission", "report:list", "report:list"),
    }
    assert after.permission_map.encode(["report:list"])


async def test_nodes_whose_static_policies_differ_decide_by_one_revision_each_with_its_own_lines(
    database: Database,
) -> None:
    strict = replace(SHIPPED, base=tuple(rule for rule in SHIPPED.base if rule.object != "@unregistered"))
    await publish(database)
    here, there = LivePolicy(SHIPPED, RevisionSeals()), LivePolicy(strict, RevisionSeals())

    await here.load(database)
    await there.load(database)
    unchanged = await publish(database, strict)

    assert here.current.revision == there.current.revision == unchanged.revision == 1
    assert here.current.digest == there.current.digest
    assert here.current.own_digest != there.current.own_digest
    decisions = [live.current.judge("resource", "@unregistered", LISTER) for live in (here, there)]
    assert [decision.allowed for decision in decisions] == [True, False]
    assert len({decision.id for decision in decisions}) == 2


def test_comments_and_layout_of_the_model_are_no_difference_between_nodes() -> None:
    text = SHIPPED.model_text.replace("m = r.layer", "# mine\n\nm  =  r.layer").replace("    ||", "  ||")

    assert replace(SHIPPED, model_text=text).digest == SHIPPED.digest
    assert replace(SHIPPED, endpoints=SHIPPED.endpoints[1:]).digest != SHIPPED.digest


def test_the_own_digest_is_also_that_of_the_statements_wherever_they_stand() -> None:
    stated = SHIPPED.invariants.statements
    elsewhere = tuple(replace(statement, place="elsewhere:1") for statement in reversed(stated))

    assert replace(SHIPPED, invariants=Invariants(elsewhere)).digest == SHIPPED.digest
    for index in range(len(stated)):
        fewer = Invariants(stated[:index] + stated[index + 1 :])
        assert replace(SHIPPED, invariants=fewer).digest != SHIPPED.digest


@with_each(
    "rule",
    [
        Rule("resource", "@unregistered", "@anyone"),
        Rule("resource", "@no-session", "@anyone"),
        Rule("endpoint", "DELETE /api/user/{id}", "@login"),
        Rule("assurance", "endpoint DELETE /api/user/{id}", "@anyone"),
        Rule("assurance", "account set-contact self", "@anyone"),
        Rule("assurance", "resource @unregistered", "@anyone"),
    ],
)
def test_published_lines_that_speak_of_what_a_node_says_itself_are_refused(rule: Rule) -> None:
    with pytest.raises(PolicyError, match=f"must not have the object {rule.object}"):
        SHIPPED.policy(Lines([rule]), {}, 1)


async def test_a_poisoned_resource_undoes_the_change_and_leaves_the_published_policy(
    database: Database,
) -> None:
    before = await publish(database)
    await execute(
        database,
        "ALTER TABLE sys.resource DROP CONSTRAINT resource_path_check",
        "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
        " VALUES ('x', 'x', 'GET', '/a, [b#')",
    )

    with pytest.raises(PolicyError, match="'GET /a, \\[b#'"):
        await publish(database)

    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    assert live.current.digest == before.digest


POISONED_LINES = [
    "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2) VALUES ('p', 'resource', '@unregistered', '@anyone')",
    "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2) VALUES ('p', 'resource', 'GET /a, [b', ' x')",
    "INSERT INTO sys.casbin_rule (ptype, v0, v1) VALUES ('p', 'resource', '@unregistered')",
    "INSERT INTO sys.casbin_rule (ptype) VALUES ('p')",
    "INSERT INTO sys.casbin_rule (ptype, v0, v1) VALUES ('g', 'a', 'b')",
    "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2, v3) VALUES ('p', 'resource', 'GET /a', 'a:b', 'allow')",
    "DELETE FROM sys.casbin_rule WHERE v1 = 'GET /api/user/list'",
    "UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list'",
]


@pytest.mark.parametrize("poison", POISONED_LINES)
async def test_tampered_lines_are_not_loaded_the_last_valid_policy_stays_and_publishing_mends_them(
    database: Database, poison: str
) -> None:
    first = await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    await execute(
        database,
        poison,
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
        " SELECT 2, digest, line_count, 'forced' FROM sys.policy_revision",
    )

    with pytest.raises(PolicyError):
        await live.load(database)

    assert live.current.revision == 1
    assert live.current.digest == first.digest
    assert live.current.judge("resource", "GET /api/role/list", LISTER).allowed

    await execute(database, "DELETE FROM sys.policy_revision WHERE revision = 2")
    mended = await publish(database)
    started = LivePolicy(SHIPPED, RevisionSeals())
    await started.load(database)

    assert (mended.revision, mended.digest) == (2, first.digest)
    assert list(started.current.rules) == list(first.rules)


async def test_a_rolled_back_change_publishes_nothing(database: Database) -> None:
    first = await publish(database)

    async def change_and_fail() -> None:
        async with database.transaction(within=30) as connection:
            await connection.execute(text("DELETE FROM sys.action_resource"))
            await publish_if_changed(connection, SHIPPED, RevisionSeals(), "mistake")
            raise LookupError

    with suppress(LookupError):
        await change_and_fail()

    assert await stored(database) == (1, shared_by(first))


AT_ONCE = 5
"""As many as there are connections: nobody waits for one longer than the database may take to answer."""


async def test_changes_at_once_are_all_in_the_last_policy(database: Database) -> None:
    await publish(database)

    async def register(number: int) -> None:
        async with database.transaction(within=30) as connection:
            await policy_revisions.lock(connection)
            await connection.execute(
                text(
                    "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
                    f" VALUES ('x', 'x{number}', 'GET', '/x/{number}')"
                )
            )
            await publish_if_changed(connection, SHIPPED, RevisionSeals(), "race")

    await asyncio.gather(*(register(number) for number in range(AT_ONCE)))
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)

    assert live.current.revision == 1 + AT_ONCE
    assert all(live.current.rules.codes("resource", f"GET /x/{number}") for number in range(AT_ONCE))


async def test_loads_at_once_load_once(database: Database) -> None:
    await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())

    assert sorted(await asyncio.gather(*(live.load(database) for _ in range(8)))) == [False] * 7 + [True]


async def test_an_older_policy_never_replaces_a_newer_one() -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())

    assert live.offer(Policy(SHIPPED.model_text, SHIPPED.base, revision=5))
    assert not live.offer(Policy(SHIPPED.model_text, (), revision=4))
    assert not live.offer(Policy(SHIPPED.model_text, (), revision=5))
    assert live.current.revision == 5
    assert tuple(live.current.rules) == SHIPPED.base


ADD = """
INSERT INTO sys.resource (resource_name, resource_code, method, path)
SELECT 'x', 'x{n}', 'GET', '/x/{n}/' || CASE WHEN {n} % 2 = 0 THEN '{{id}}' ELSE 'y' END
"""
BIND = """
INSERT INTO sys.action_resource (resource_id, menu_id) SELECT r.id, m.id FROM sys.resource r, sys.menu m
WHERE m.menu_type = 'Button' AND (m.id * 7 + r.id) % 17 = {n} % 17 ON CONFLICT DO NOTHING
"""
EDITS = [
    ADD,
    BIND,
    "DELETE FROM sys.resource WHERE id % 11 = {n} % 11 AND resource_code LIKE 'x%'",
    "UPDATE sys.resource SET enabled = NOT enabled WHERE id % 7 = {n} % 7",
    "UPDATE sys.menu SET enabled = NOT enabled WHERE id % 9 = {n} % 9 AND auth_mark <> '*'",
    "DELETE FROM sys.action_resource WHERE (menu_id + resource_id) % 13 = {n} % 13",
    "INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'N', 'new:n{n}')",
]


async def test_following_each_change_and_loading_all_lines_give_the_same_policy(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(3)
    await publish(database)
    following, skipping, publishing = (
        LivePolicy(SHIPPED, RevisionSeals()),
        LivePolicy(SHIPPED, RevisionSeals()),
        LivePolicy(SHIPPED, RevisionSeals()),
    )
    for live in (following, skipping, publishing):
        await live.load(database)
    whole = 0

    def counted(snapshot: Stored) -> Lines:
        nonlocal whole
        whole += 1
        return published(snapshot)

    monkeypatch.setattr("service.authz.publishing.live.published", counted)
    for n in range(24):
        await execute(database, dice.choice(EDITS).format(n=n))
        async with database.transaction(within=30) as connection:
            made = await publish_if_changed(
                connection, SHIPPED, RevisionSeals(), "edit", in_force=publishing.current
            )
        publishing.offer(made)
        await following.load(database)
        if n % 5 == 4:
            await skipping.load(database)
            assert whole == n // 5  # the fresh ones below only
            fresh = LivePolicy(SHIPPED, RevisionSeals())
            await fresh.load(database)
            for live in (following, skipping, publishing):
                assert live.current.revision == fresh.current.revision
                assert live.current.digest == fresh.current.digest
                assert list(live.current.rules) == list(fresh.current.rules)
                for path in (f"/x/{number}/{end}" for number in range(n) for end in "yz"):
                    assert live.current.resource_at("GET", path) == fresh.current.resource_at("GET", path)
    assert following.current.revision > 12


async def test_a_change_writes_the_lines_of_what_it_changes_and_no_others(database: Database) -> None:
    async def ids(condition: str) -> list[int]:
        async with database.snapshot() as connection:
            selected = await connection.execute(text(f"SELECT id FROM sys.casbin_rule WHERE {condition}"))
            return sorted(selected.scalars())

    await publish(database)
    before = await ids("v1 NOT LIKE '%GET /api/user/list'")
    await execute(database, "UPDATE sys.resource SET path = '/api/a' WHERE path = '/api/user/list'")

    await publish(database)

    assert await ids("v1 NOT LIKE '%GET /api/user/list' AND v1 NOT LIKE '%GET /api/a'") == before
    assert await ids("v1 = 'GET /api/user/list'") == []
    assert len(await ids("v1 = 'GET /api/a'")) == 1


async def test_a_worker_reads_all_lines_where_the_kept_changes_do_not_give_the_digest(
    database: Database,
) -> None:
    seals = RevisionSeals("a key that only the service has, and an auditor")
    await publish(database, seals=seals)
    live, keyless = LivePolicy(SHIPPED, seals), LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    await execute(database, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:detail'")
    made = await publish(database, seals=seals)
    await execute(database, "DELETE FROM sys.policy_line WHERE until = 2 OR since = 2")

    assert await live.load(database)

    assert live.current.digest == made.digest
    assert list(live.current.rules) == list(made.rules)
    # Without a seal nothing else than history tells who has written the lines.
    await execute(database, "UPDATE sys.policy_revision SET seals = NULL, sealed_from = NULL")
    with pytest.raises(UntrustedRevisionError, match="differ from the history"):
        await keyless.load(database)


async def test_a_database_out_of_reach_leaves_the_last_valid_policy(database: Database) -> None:
    await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    async with Database("postgresql://nobody@127.0.0.1:1/none", timeout=0.5) as gone:
        with pytest.raises(Unavailable):
            await live.load(gone)

    assert live.current.revision == 1


async def test_a_plain_casbin_with_the_table_and_the_files_of_a_node_decides_alike(
    database: Database, seeded_database_url: str
) -> None:
    policy = await publish(database)
    with engine(seeded_database_url).connect() as connection:
        plain = casbin.Enforcer(str(MODEL), PolicyAdapter(connection))
    for name, function in PREDICATES.items():
        plain.add_function(name, function)

    assert plain.get_policy() == shared_by(policy)
    plain.enable_auto_save(False)
    plain.add_policies([*SHIPPED.rules])
    satisfied = words_at(Authentication("mfa"), 1e9)
    # Plain Casbin evaluates each line anew: each caller asks about a third of the objects.
    objects = list(dict.fromkeys((rule.layer, rule.object) for rule in policy.rules))
    for place, held in enumerate((None, LISTER, HeldCodes(["system:*:list"]), satisfied)):
        for layer, name in objects[place % 3 :: 3]:
            if held is not None and (held is satisfied) is not (layer == "assurance"):
                continue
            caller = ANONYMOUS if held is None else held
            decision = policy.judge(layer, name, held)
            assert plain.enforce_ex(layer, name, caller) == (
                decision.allowed,
                decision.line or [],
            )


WRITERS: dict[str, Callable[[PolicyAdapter], object]] = {
    "save_policy": lambda adapter: adapter.save_policy(None),
    "add_policy": lambda adapter: adapter.add_policy("p", "p", ["resource", "@unregistered", "@anyone"]),
    "add_policies": lambda adapter: adapter.add_policies(
        "p", "p", [["resource", "@unregistered", "@anyone"]]
    ),
    "remove_policy": lambda adapter: adapter.remove_policy("p", "p", ["resource", "@unregistered", "@login"]),
    "remove_policies": lambda adapter: adapter.remove_policies(
        "p", "p", [["resource", "@unregistered", "@login"]]
    ),
    "remove_filtered_policy": lambda adapter: adapter.remove_filtered_policy("p", "p", 0, "resource"),
    "update_policy": lambda adapter: adapter.update_policy("p", "p", ["resource"], ["endpoint"]),
    "update_policies": lambda adapter: adapter.update_policies("p", "p", [["resource"]], [["endpoint"]]),
    "update_filtered_policies": lambda adapter: adapter.update_filtered_policies(
        "p", "p", [["x"]], 0, "resource"
    ),
    "load_filtered_policy": lambda adapter: adapter.load_filtered_policy(None, None),
}


async def test_the_adapter_writes_nothing_and_loads_no_part(
    database: Database, seeded_database_url: str
) -> None:
    await publish(database)
    before = await stored(database)

    with engine(seeded_database_url).connect() as connection:
        for write in WRITERS.values():
            with pytest.raises(NotImplementedError):
                write(PolicyAdapter(connection))
        connection.commit()

    assert await stored(database) == before


LATER = "INSERT INTO sys.casbin_rule (ptype, v0, v1, v2) VALUES ('p', 'tenant', 'north', 'system:role:list')"


def digest_of_a_later_version(policy: Policy, codes: Mapping[str, int]) -> str:
    """Return the digest that a version with the layer ``tenant`` gives this policy and the line above."""
    lines = "".join(f"{rule}\n" for rule in policy.shared) + "p, tenant, north, system:role:list\n\n"
    bits = sorted(codes.items(), key=lambda item: item[1])
    return hashlib.sha256((lines + "".join(f"{code}={bit}\n" for code, bit in bits)).encode()).hexdigest()


async def test_a_layer_of_a_later_version_is_left_out_and_everything_else_decides_as_before(
    database: Database,
) -> None:
    before = await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    async with database.snapshot() as connection:
        digest = digest_of_a_later_version(before, await menus.permission_bits(connection))
    await execute(
        database,
        LATER,
        "INSERT INTO sys.policy_line (layer, object, code, since) SELECT v0, v1, v2, 2 FROM sys.casbin_rule"
        " WHERE v0 = 'tenant'",
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause) SELECT revision + 1,"
        f" '{digest}', line_count + 1, 'a later version' FROM sys.policy_revision"
        " ORDER BY revision DESC LIMIT 1",
    )
    for node in (live, LivePolicy(SHIPPED, RevisionSeals())):  # one that runs, and one that starts
        assert await node.load(database)
        policy = node.current
        assert policy.revision == before.revision + 1
        assert policy.judge("endpoint", "GET /api/role/list", LISTER).allowed
        assert not policy.judge("tenant", "north", LISTER).allowed
        assert not policy.judge("tenant", "north", HeldCodes(["*"])).allowed
    # What this version publishes leaves the layer out: the later version denies there, until it publishes.
    assert (await publish(database)).revision == before.revision + 2
    assert all(rule.layer != "tenant" for rule in (await stored(database))[1])


async def test_a_line_of_an_unknown_layer_that_was_not_published_is_tampering(database: Database) -> None:
    await publish(database)
    await execute(database, LATER)
    with pytest.raises(PolicyError, match="differ from the history"):
        await LivePolicy(SHIPPED, RevisionSeals()).load(database)


async def test_what_would_be_published_does_not_depend_on_the_policy_in_force(database: Database) -> None:
    before = await publish(database)
    await execute(database, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'")
    async with database.snapshot() as connection:
        derived = await derived_policy(connection, SHIPPED)
        differs = await drift(connection, derived)
        for in_force in (
            before,
            LivePolicy(SHIPPED, RevisionSeals()).current,
            Policy(SHIPPED.model_text, [Rule("grant", "a:b", "a:b")]),
        ):
            candidate = await derived_policy(connection, SHIPPED, in_force)

            assert list(candidate.rules) == list(derived.rules) != list(before.rules)
            assert (candidate.digest, candidate.revision) == (derived.digest, 0)
            assert candidate.resource_at("GET", "/api/user/7") == derived.resource_at("GET", "/api/user/7")
            assert await drift(connection, candidate) == differs is not None


async def test_an_examination_derives_the_policy_once_for_each_revision_that_its_checks_see(
    database: Database,
) -> None:
    await publish(database)
    installation = Installation({}, Settings(), lambda _shipped: (), database=database, shipped=SHIPPED)
    async with database.snapshot() as connection:
        first = await installation.derived(connection)
        assert await installation.derived(connection) is first
    await execute(database, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'")
    published = await publish(database)
    async with database.snapshot() as connection:
        assert (await installation.derived(connection)).digest == published.digest != first.digest
