from pathlib import Path
from typing import Any

import casbin
import psycopg
import pytest

from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import PolicyError
from service.authz.publishing.shipped import configured
from service.features.policy_tests.commands_export import export_policy
from service.kernel.assurance import BY_STRONGEST, Satisfied
from service.kernel.codes import HeldCodes
from service.server.prepare import publish_policy
from service.settings import load
from tests.support.running import portcullis
from tests.support.without import OFF

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
HOLDERS: tuple[list[str] | None, ...] = (
    None,
    ["*"],
    ["system:*:list"],
    ["system:role:list", "system:resource:bind"],
    ["*:user:create", "@login", "@nobody"],
)


def variables(url: str) -> dict[str, str]:
    return {"DATABASE_URL": url, "REDIS_URL": "redis://127.0.0.1:1/0", "JWT_SECRET": SECRET}


def plain_enforcer(folder: Path) -> Any:
    """Load the two files as anybody with Casbin would, who has read what the five predicates are."""
    enforcer = casbin.Enforcer(str(folder / "model.conf"), str(folder / "policy.csv"))
    for name, function in PREDICATES.items():
        enforcer.add_function(name, function)
    return enforcer


def test_a_plain_casbin_loads_what_is_exported_and_answers_alike(
    seeded_database_url: str, tmp_path: Path
) -> None:
    settings = load({"PORTCULLIS_CONFIG": "", **OFF, **variables(seeded_database_url)})
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute("UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:list'")
    policy = publish_policy(settings, configured(settings))

    done = portcullis(tmp_path, "policy", "export", "out", **variables(seeded_database_url))

    assert (done.status, done.errors) == (0, "")
    assert done.output.startswith(f"Revision 1: out/model.conf and {len(policy.rules)} lines")
    plain = plain_enforcer(tmp_path / "out")
    assert [tuple(line) for line in plain.get_policy()] == list(policy.rules)
    objects = {rule[:2] for rule in policy.rules} | {
        ("resource", "GET /nothing"),
        ("endpoint", "GET /nothing"),
    }
    asked = 0
    for layer, name in sorted(objects)[::3]:  # that the lines are alike is known
        for codes in HOLDERS:
            held: HeldCodes | Satisfied | None = None if codes is None else HeldCodes(codes)
            if layer == "assurance" and held is not None:
                held = BY_STRONGEST["@two-factors"]
            decision = policy.judge(layer, name, held)
            answer, line = plain.enforce_ex(layer, name, ANONYMOUS if held is None else held)
            assert (answer, tuple(line) or None) == (decision.allowed, decision.line)
            asked += 1
    assert asked > 300


def test_an_export_replaces_the_one_before_and_says_when_it_can_not(
    seeded_database_url: str, tmp_path: Path
) -> None:
    settings = load({"PORTCULLIS_CONFIG": "", **OFF, **variables(seeded_database_url)})
    publish_policy(settings, configured(settings))
    folder = tmp_path / "new" / "folder"
    export_policy(settings, folder)
    (folder / "policy.csv").write_text("p, endpoint, GET /api/user/list, @anyone\n")

    export_policy(settings, folder)

    assert "@unregistered" in (folder / "policy.csv").read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        export_policy(settings, tmp_path / "file")


def test_lines_that_were_tampered_with_are_not_exported(seeded_database_url: str, tmp_path: Path) -> None:
    settings = load({"PORTCULLIS_CONFIG": "", **OFF, **variables(seeded_database_url)})
    publish_policy(settings, configured(settings))
    with psycopg.connect(seeded_database_url) as connection:
        connection.execute("UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list'")

    with pytest.raises(PolicyError, match="differ from the history"):
        export_policy(settings, tmp_path / "out")

    assert not (tmp_path / "out").exists()
