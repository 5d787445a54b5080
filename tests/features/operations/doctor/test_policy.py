"""What the doctor says of the policy, and of those who may do everything."""

import shutil
from pathlib import Path

import pytest

from service.authz.publishing.shipped import read_shipped
from service.features.command_line.commands_policy import sync
from service.settings import load
from tests.features.operations.doctor.conftest import Look, LookAt, execute, variables_of
from tests.support.running import ROOT


def test_a_policy_as_it_was_published_is_in_order(look: Look) -> None:
    findings = look()

    assert [findings[name].state for name in ("policy-files", "published-policy", "policy-workers")] == [
        "ok"
    ] * 3
    assert findings["published-policy"].message.startswith("revision 1, ")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "DELETE FROM sys.casbin_rule WHERE v1 = 'GET /api/role/list' AND v2 = 'system:role:list'",
            "the stored lines differ from revision 1: they were changed directly in the database",
        ),
        (
            "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:role:list'",
            "revision 1 does not match the current resources, bindings and Buttons",
        ),
        ("DELETE FROM sys.policy_revision", "no policy has been published"),
    ],
    ids=["lines", "a Button", "nothing"],
)
def test_a_policy_that_is_not_what_would_be_derived_is_a_fault(
    look_at: LookAt, database_url: str, statement: str, message: str
) -> None:
    execute(database_url, statement)

    finding = look_at("published-policy")

    assert (finding.state, finding.message) == ("fault", message)


def test_files_without_a_list_of_what_they_open_are_a_warning(look_at: LookAt, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    assert look_at("invariants").state == "ok"
    (tmp_path / "policies" / "invariants.yaml").unlink()

    finding = look_at("invariants", PORTCULLIS_POLICY__FOLDER=str(tmp_path / "policies"))

    assert (finding.state, "are missing: @anyone, @login, @nobody, lines, assurance" in finding.message) == (
        "warning",
        True,
    )


def test_files_with_which_nothing_would_start_are_a_fault(look: Look, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    lines = tmp_path / "policies" / "endpoints.csv"
    lines.write_text(lines.read_text() + "p, endpoint, GET /api/nowhere, @anyone\n")
    (tmp_path / "wrong.conf").write_text((ROOT / "model.conf").read_text().replace("[matchers]", "[matcher]"))

    stray = look(PORTCULLIS_POLICY__FOLDER=str(tmp_path / "policies"))
    wrong = look(PORTCULLIS_POLICY__MODEL=str(tmp_path / "wrong.conf"))

    assert stray["policy-files"].state == wrong["policy-files"].state == "fault"
    assert "GET /api/nowhere" in stray["policy-files"].message
    assert "[matcher]" in wrong["policy-files"].message
    assert wrong["routes"].message == "the policy files have faults"


def test_a_worker_that_stays_behind_is_named(look_at: LookAt, database_url: str) -> None:
    execute(
        database_url,
        "INSERT INTO sys.policy_worker (worker, revision, fault) VALUES"
        " ('node-1', 1, NULL), ('node-2', 0, 'another model.conf')",
    )

    finding = look_at("policy-workers")

    assert finding.state == "warning"
    assert finding.message == "1 of 2 do not use revision 1: node-2 with 0 (another model.conf)"


def test_workers_with_another_own_part_are_named_and_a_fault_where_the_setting_does_not_name_it(
    look_at: LookAt, database_url: str
) -> None:
    own, other = read_shipped().digest, "f" * 64
    execute(
        database_url,
        "INSERT INTO sys.policy_worker (worker, revision, own_digest) VALUES"
        f" ('node-1', 1, '{own}'), ('node-2', 1, '{other}')",
    )

    finding = look_at("policy-own-parts")
    unnamed = look_at("policy-own-parts", PORTCULLIS_POLICY__OWN_DIGESTS=own)
    named = look_at("policy-own-parts", PORTCULLIS_POLICY__OWN_DIGESTS=f"{own},{other}")

    assert finding.message == f"1 of 2 do not use the static policy {own[:8]}: node-2 by ffffffff"
    assert (finding.state, unnamed.state, named.state) == ("warning", "fault", "ok")
    assert "policy.own_digests does not list it" in unnamed.message


def test_workers_with_another_policy_assurance_are_named(look_at: LookAt, database_url: str) -> None:
    own, other = read_shipped(assurance="base").digest, read_shipped(assurance="administrators").digest
    assert own != other
    execute(
        database_url,
        "INSERT INTO sys.policy_worker (worker, revision, own_digest) VALUES"
        f" ('node-1', 1, '{own}'), ('node-2', 1, '{other}')",
    )

    finding = look_at("policy-own-parts")
    there = look_at("policy-own-parts", PORTCULLIS_POLICY__ASSURANCE="administrators")

    assert (finding.state, there.state) == ("warning", "warning")
    assert finding.message == f"1 of 2 do not use the static policy {own[:8]}: node-2 by {other[:8]}"
    assert there.message == f"1 of 2 do not use the static policy {other[:8]}: node-1 by {own[:8]}"
    assert "policy.assurance" in finding.remedy


def test_holders_of_codes_who_can_not_meet_their_demands_are_counted(look_at: LookAt) -> None:
    base = look_at("demands")
    strict = look_at("demands", PORTCULLIS_POLICY__ASSURANCE="administrators")

    assert (base.state, strict.state) == ("ok", "warning")
    assert strict.message.startswith("roles super pwd: 1 person with no second factor: ")
    assert "demands @two-factors" in strict.message


def test_lines_that_were_changed_past_the_service_are_told_for_a_month(
    look_at: LookAt, database_url: str
) -> None:
    before = look_at("policy-tampering")
    execute(
        database_url,
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause, tampered)"
        " VALUES (7, 'd', 1, 'reload by admin', 2)",
    )
    after = look_at("policy-tampering")
    execute(
        database_url,
        "UPDATE sys.policy_revision SET create_time = now() - interval '31 days' WHERE revision = 7",
    )

    assert (before.state, after.state, look_at("policy-tampering").state) == ("ok", "warning", "ok")
    assert after.message == (
        "1 revisions in 30 days replaced lines or revisions that were changed directly in the "
        "database; the last is 7, with 2 of them"
    )


def test_codes_without_an_enabled_button_are_named(look_at: LookAt, database_url: str) -> None:
    carried = look_at("permission-codes")
    execute(database_url, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:file:share'")
    lacking = look_at("permission-codes")

    assert (carried.state, lacking.state) == ("ok", "warning")
    assert lacking.message == "no enabled Button has system:file:share: only wildcards grant it"


def test_what_the_next_start_adds_is_told_with_the_roles_that_gain_it(
    look_at: LookAt, database_url: str
) -> None:
    execute(database_url, "DELETE FROM sys.seeded WHERE code = 'system:file:share'")
    execute(
        database_url,
        "DELETE FROM sys.role_menu USING sys.menu WHERE id = menu_id AND auth_mark = 'system:file:share'",
    )
    execute(database_url, "DELETE FROM sys.menu WHERE auth_mark = 'system:file:share'")

    finding = look_at("permission-codes")

    assert finding.state == "warning"
    assert finding.message == (
        "The next start adds the Buttons of system:file:share. "
        "The role admin gains by its wildcards: system:file:share. "
        "The role super gains by its wildcards: system:file:share."
    )


def test_routes_that_nobody_has_registered_are_counted_until_they_are(
    look_at: LookAt, database_url: str, tmp_path: Path
) -> None:
    execute(database_url, "DELETE FROM sys.action_resource; DELETE FROM sys.resource")
    unregistered = look_at("routes")
    strict = look_at("routes", PORTCULLIS_POLICY__UNREGISTERED="deny")

    sync(load(variables_of(database_url, "redis://localhost:1/0", tmp_path)), dry_run=False)

    assert (unregistered.state, strict.state, look_at("routes").state) == ("ok", "warning", "ok")
    assert "are not registered: the endpoint layer decides them" in unregistered.message
    assert "routes are not registered, and therefore closed to everyone" in strict.message


def test_a_resource_that_fits_no_route_is_named(look_at: LookAt, database_url: str) -> None:
    execute(
        database_url,
        "DELETE FROM sys.action_resource; DELETE FROM sys.resource;"
        "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
        " VALUES ('Old', 'old', 'GET', '/api/old')",
    )

    assert "1 resources match no route, for example GET /api/old" in look_at("routes").message


ANOTHER = """
INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)
    SELECT 'otter-' || n, 'otter-' || n, 'Otter', '-' FROM generate_series(1, {count}) n;
INSERT INTO sys.user_role SELECT u.id, r.id FROM sys.user u, sys.role r
    WHERE u.user_name LIKE 'otter-%' AND r.role_code = 'super'
"""


@pytest.mark.parametrize(
    ("statement", "state", "message"),
    [
        ("SELECT 1", "ok", "only admin holds *, but the installation is new"),
        (
            "UPDATE sys.user SET create_time = now() - interval '8 days'",
            "warning",
            "only admin holds *",
        ),
        (ANOTHER.format(count=1), "ok", "2 users hold *: admin, otter-1"),
        (
            ANOTHER.format(count=9),
            "warning",
            "10 users hold *: admin, otter-1, otter-2, otter-3, otter-4 and others",
        ),
        ("UPDATE sys.user SET status = 'disabled'", "fault", "no enabled user holds *"),
        ("UPDATE sys.role SET enabled = false", "fault", "no enabled user holds *"),
        ("UPDATE sys.menu SET enabled = false WHERE auth_mark = '*'", "fault", "no enabled user holds *"),
    ],
    ids=["one", "one for long", "two", "ten", "disabled", "role disabled", "Button disabled"],
)
def test_none_one_and_many_who_may_do_everything_are_told(
    look_at: LookAt, database_url: str, statement: str, state: str, message: str
) -> None:
    execute(database_url, statement)

    finding = look_at("administrators")

    assert (finding.state, finding.message) == (state, message)


def test_the_first_administrator_is_told_of_until_the_password_is_changed(
    look_at: LookAt, database_url: str
) -> None:
    then = "now() - interval '41 days'"
    execute(database_url, f"UPDATE sys.user SET create_time = {then}, update_time = {then}")
    first = look_at("first-administrator")
    execute(database_url, "UPDATE sys.user SET nick_name = 'Edited', update_time = now()")
    edited = look_at("first-administrator")
    execute(database_url, "UPDATE sys.user SET password_time = now()")
    changed = look_at("first-administrator")
    execute(database_url, "UPDATE sys.user SET user_name = 'wanda', user_name_key = 'wanda'")

    assert first.message == "admin still has the initial password, 41 days old"
    assert edited.message == first.message
    assert (first.state, changed.state) == ("warning", "ok")
    assert (first.users, changed.users) == (((1, "admin"),), ())
    assert look_at("first-administrator").message == "no administrator is called admin"


def test_bit_positions_that_make_tokens_long_are_a_warning(look_at: LookAt, database_url: str) -> None:
    assert look_at("permission-bits").state == "ok"
    execute(
        database_url,
        "UPDATE sys.menu SET bit_position = 8192 WHERE auth_mark = 'system:role:list';"
        "INSERT INTO sys.retired_bit SELECT n, 1, 1, now() FROM generate_series(9000, 9002) n",
    )

    finding = look_at("permission-bits")

    assert (finding.state, finding.message) == (
        "warning",
        "the highest bit position is 8192; 3 are waiting to be released",
    )


def test_a_role_that_violates_the_separation_of_duties_is_a_fault(look_at: LookAt, tmp_path: Path) -> None:
    stated = tmp_path / "stated.yaml"
    stated.write_text(
        "statements: [{name: apart, reason: two pairs of eyes, "
        "no_role_holds: ['system:user:list', 'system:role:list'], except_roles: [super, admin]}]\n"
    )

    assert look_at("invariants").state == "ok"
    finding = look_at("invariants", PORTCULLIS_POLICY__INVARIANTS=str(stated))

    message = "apart: the role auditor holds system:user:list and system:role:list (two pairs of eyes)"
    assert (finding.state, finding.message) == ("fault", message)


def test_a_role_that_too_few_can_approve_is_named(look_at: LookAt, database_url: str) -> None:
    assert look_at("request-rules").state == "ok"
    execute(
        database_url,
        "INSERT INTO sys.request_rule (role_id, requestable_by, stage_codes, stage_approvals, max_duration,"
        " pending_timeout, reason_required, grant_needed, emergency)"
        " SELECT id, '@login', '{system:role:list}', '{9}', 60, 60, false, false, false"
        " FROM sys.role WHERE role_code = 'auditor'",
    )

    finding = look_at("request-rules")

    assert finding.state == "warning"
    assert finding.message.startswith("role auditor: stage 1 takes 9 persons")
