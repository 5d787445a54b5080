"""``portcullis policy prove``, on files."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from service.__main__ import main
from service.authz.engine.lines import Lines
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.laboratory.prove_within import prove_within
from tests.policies.stock import ROOT

PAGE = (
    (ROOT / "docs" / "guides" / "prove-and-compare.md")
    .read_text("utf-8")
    .partition("## For every possible caller\n")[2]
)
SHOWN = re.findall(r"```sh\n(portcullis policy prove .*?)\n```\n```text\n(.*?)```", PAGE, re.DOTALL)


class Done(NamedTuple):
    status: int
    source: str
    out: str
    errors: str


Prove = Callable[..., Done]


@pytest.fixture
def prove(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> Prove:
    """Run ``portcullis policy prove`` where there is no installation; its answers without their source."""
    monkeypatch.setenv("PORTCULLIS_CONFIG", "")
    monkeypatch.setenv("PORTCULLIS_SERVER__DATA", str(tmp_path / "none"))

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        status = main(["policy", "prove", *arguments])
        out, errors = capsys.readouterr()
        if "--json" in arguments and out:
            answer = json.loads(out)
            return Done(status, answer.pop("source"), json.dumps(answer), errors)
        source, _, rest = out.partition("\n")
        assert not out or source.startswith("Source: ")
        return Done(status, source.removeprefix("Source: "), rest, errors)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped policy."""
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    shutil.copy(ROOT / "model.conf", tmp_path)
    return tmp_path


def change(path: Path, old: str, new: str = "") -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def exported(folder: Path, *lines: str) -> Path:
    """Write an export of the shipped policy with more ``lines``."""
    shipped = [*(ROOT / "policies" / name for name in ("base.csv", "endpoints.csv"))]
    folder.mkdir()
    shutil.copy(ROOT / "model.conf", folder)
    (folder / "policy.csv").write_text("\n".join([*(path.read_text() for path in shipped), *lines, ""]))
    return folder


@pytest.mark.parametrize(("line", "answer"), SHOWN)
def test_the_page_shows_what_the_command_prints(prove: Prove, line: str, answer: str) -> None:
    done = prove(*shlex.split(line)[3:])
    assert (done.status, done.errors) == (0, "")
    assert re.fullmatch(".+".join(map(re.escape, answer.split("…"))), f"Source: {done.source}\n{done.out}")


def test_the_page_shows_all_forms() -> None:
    assert len(SHOWN) == 3


def test_where_both_layers_need_a_code_one_of_each_is_needed(prove: Prove, tmp_path: Path) -> None:
    policy = exported(tmp_path / "one", "p, resource, DELETE /api/user/{id}, x")

    done = prove("DELETE", "/api/user/{id}", "--policy", str(policy), "--json")
    (request,) = json.loads(done.out)["requests"]
    output = prove("DELETE", "/api/user/{id}", "--policy", str(policy)).out

    alone = [codes[0] for codes in request["smallest"] if len(codes) == 1]
    assert alone == ["*"]
    assert ["system:user:delete", "x"] in request["smallest"]
    assert {"x"} == {code for codes in request["smallest"] if len(codes) == 2 for code in codes} - set(
        request["layers"][1]["openedBy"]
    )
    assert "  With a login, and one of:\n    *\n  Or with one of:\n    x\n  together with one of:\n" in output


def test_each_part_of_a_route_that_resources_split_has_its_own_condition(
    prove: Prove, tmp_path: Path
) -> None:
    policy = exported(
        tmp_path / "one",
        "p, resource, DELETE /api/user/7, @nobody",
        "p, resource, DELETE /api/user/{id}, system:user:*",
    )

    whole = json.loads(prove("DELETE", "/api/user/{id}", "--policy", str(policy), "--json").out)
    alone = json.loads(prove("delete", "/api/user/7", "--policy", str(policy), "--json").out)

    by_name = {entry["request"]: entry for entry in whole["requests"]}
    assert sorted(by_name) == ["DELETE /api/user/7", "DELETE /api/user/{id}"]
    assert by_name["DELETE /api/user/7"]["smallest"] == []
    assert [layer["needs"] for layer in by_name["DELETE /api/user/7"]["layers"]] == ["never", "code"]
    assert alone["requests"] == [by_name["DELETE /api/user/7"]]
    assert "never passes, whatever codes" in prove("DELETE", "/api/user/7", "--policy", str(policy)).out


@pytest.mark.parametrize(
    ("method", "path", "needs"),
    [
        ("POST", "/api/auth/login", ["nothing", "nothing"]),
        ("GET", "/api/user/info", ["login", "login"]),
        ("GET", "/api/user/list", ["login", "code"]),
    ],
)
def test_a_layer_needs_nothing_a_login_or_a_code(
    prove: Prove, method: str, path: str, needs: list[str]
) -> None:
    (request,) = json.loads(prove(method, path, "--json").out)["requests"]
    assert [layer["needs"] for layer in request["layers"]] == needs


def test_what_needs_no_code_is_told_in_words(prove: Prove) -> None:
    assert prove("GET", "/api/user/info").out.endswith(
        "  Without a login: never passes.\n  With a login: passes, whatever codes are held.\n"
    )
    assert "Without a login: passes." in prove("POST", "/api/auth/login").out
    assert "there is no installation in" in prove("GET", "/nowhere").source
    assert prove("GET", "/nowhere").out == (
        "GET /nowhere\n  No route of this service serves it, so no one is allowed.\n"
    )


def test_a_dropped_requirement_is_found_with_a_smallest_caller(prove: Prove, folder: Path) -> None:
    change(
        folder / "policies" / "endpoints.csv",
        "p, endpoint, DELETE /api/user/{id}, system:user:delete",
        "p, endpoint, DELETE /api/user/{id}, @login",
    )

    done = prove("--equivalent", "shipped", str(folder), "--json")
    comparison = json.loads(done.out)

    assert done.status == 2
    assert comparison == {
        "equivalent": False,
        "differing": [
            {
                "name": "DELETE /api/user/{id}",
                "layer": None,
                "gains": {"loggedIn": True, "codes": []},
                "loses": None,
            }
        ],
        "simplest": 0,
    }


def test_a_dropped_row_of_the_matcher_is_found_though_the_lines_are_the_same(
    prove: Prove, folder: Path
) -> None:
    change(folder / "model.conf", "    || holdsPattern(r.caller, p.code) \\\n")

    done = prove("--equivalent", "shipped", str(folder))

    assert done.status == 2
    assert "DELETE /api/user/{id}: only shipped lets pass a holder of *:user:delete" in done.out


def test_a_line_that_changes_no_answer_makes_no_difference(prove: Prove, folder: Path) -> None:
    line = "p, endpoint, GET /api/user/info, @login\n"
    change(folder / "policies" / "endpoints.csv", line, f"{line}{line.replace('@login', 'system:x')}")

    assert prove("--equivalent", "shipped", str(folder)).status == 0


def test_a_wildcard_that_a_new_binding_lets_through_is_found(prove: Prove, tmp_path: Path) -> None:
    narrow = exported(tmp_path / "one", "p, resource, DELETE /api/user/{id}, report:delete")
    wide = exported(tmp_path / "two", "p, resource, DELETE /api/user/{id}, report:*")

    done = prove("--equivalent", str(narrow), str(wide))

    assert done.status == 2
    assert f"only {wide} lets pass a holder of" not in done.out
    assert f"only {narrow} lets pass a holder of report:delete and system:user:delete" in done.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "name a request by METHOD and PATH, two policies"),
        (["GET"], "name a request by METHOD and PATH, two policies"),
        (["GET", "/a//b"], "The path contains an empty"),
        (
            ["GET", "/a", "--equivalent", "shipped", "shipped"],
            "name a request, two policies or --within, not more than one",
        ),
        (["GET", "/a", "--policy", "nowhere"], "'nowhere' is no policy"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(prove: Prove, arguments: list[str], reason: str) -> None:
    done = prove(*arguments)

    assert done.status == 1
    assert reason in done.errors


def test_a_model_outside_the_closed_grammar_is_refused_with_its_line(prove: Prove, folder: Path) -> None:
    change(folder / "model.conf", "holdsPattern(r.caller", 'r.layer == "resource" && holdsPattern(r.caller')

    done = prove("--equivalent", "shipped", str(folder))

    assert done.status == 1
    assert re.search(r"model\.conf:\d+: .* is not allowed", done.errors)


RULE = (
    "p, request, role auditor, @login",
    "p, assurance, request role auditor, @two-factors",
    "p, approve, role auditor stage 1 for others, system:audit:read",
    "p, approve, role auditor stage 1 takes 2, @counted",
)


def test_nobody_approves_the_own_request_whatever_codes_are_held(prove: Prove, tmp_path: Path) -> None:
    policy = ("--policy", str(exported(tmp_path / "a", *RULE)))
    name = "role auditor stage 1 for self"

    done = prove("approve", name, *policy)
    (proved,) = json.loads(prove("APPROVE", name, "--json", *policy).out)["requests"]

    assert done.status == 0
    assert "With a login: never passes, whatever codes are held." in done.out
    assert "Without a login: never passes." in done.out
    assert "The service decides before the policy: whether a request counts as one of others" in done.out
    assert "whose approvals count" in proved["chosen"]
    assert (proved["smallest"], proved["visitors"]) == ([], False)


def test_the_holders_who_approve_and_what_is_demanded_of_who_asks_are_proved(
    prove: Prove, tmp_path: Path
) -> None:
    policy = ("--policy", str(exported(tmp_path / "a", *RULE)))

    approving = prove("APPROVE", "role auditor stage 1 for others", *policy).out
    asking = prove("REQUEST", "role auditor", *policy).out

    assert "With a login, and one of:\n    system:audit:read  " in approving
    assert "With a login: passes, whatever codes are held." in asking
    assert "Authenticated by one of: @two-factors" in asking


def test_the_code_of_a_review_is_proved_to_be_what_lets_somebody_decide_about_others_alone(
    prove: Prove, tmp_path: Path
) -> None:
    lines = (
        "p, review, assignment for others, system:review:decide",
        "p, review, assignment for others by hr:review, hr:review",
    )
    policy = ("--policy", str(exported(tmp_path / "a", *lines)))

    for name, smallest in (
        ("assignment for others by hr:review", [["hr:review"]]),
        ("assignment for others", [["system:review:decide"]]),
        ("assignment for self", []),
    ):
        (proved,) = json.loads(prove("REVIEW", name, "--json", *policy).out)["requests"]
        # The code itself comes before the wildcards that give it.
        assert (proved["smallest"][:1], proved["visitors"]) == (smallest, False)


def test_what_is_no_object_of_the_layer_is_refused(prove: Prove) -> None:
    done = prove("APPROVE", "role auditor")
    assert done.status != 0
    assert "role auditor stage 1 for others" in done.errors


def test_policies_that_differ_in_how_many_approve_are_not_equivalent(prove: Prove, tmp_path: Path) -> None:
    before, after = (
        str(exported(tmp_path / str(number), f"p, approve, role auditor stage 1 takes {number}, @counted"))
        for number in (1, 2)
    )

    done = prove("--equivalent", before, after)

    assert done.status == 2
    assert "approve role auditor stage 1 takes 2: only one of the two has it" in done.out


def test_agents_and_keys_exceed_nobody_and_what_exceeds_is_named(prove: Prove) -> None:
    for caller in ("agent", "key"):
        done = prove("--within", caller, "--json")
        answer = json.loads(done.out)
        assert (done.status, answer["exceeding"]) == (0, [])
        assert answer["acts"] == ["ban", "delete", "disable", "edit"]
        assert "GET /api/user/profile" in answer["withoutCodes"]
        assert "POST /api/user/profile/keys" not in answer["withoutCodes"]
    line = Rule("assurance", "endpoint GET /api/role/list", "@personal-key")
    shipped = read_shipped()
    without = [rule for rule in shipped.assurance if rule.object != line.object]
    wrong = replace(shipped, assurance=(*without, line)).policy(Lines(), {}, 1)
    (exceeding,) = prove_within(wrong, "key").exceeding
    assert exceeding.object == line.object
    both = prove("--within", "agent", "GET", "/api/role/list")
    assert both.status == 1
    assert "not more than one" in both.errors
