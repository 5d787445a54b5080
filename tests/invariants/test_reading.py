from __future__ import annotations

from pathlib import Path

import pytest

from service.authz.engine.rules import PolicyError
from service.authz.invariants.reading import read_invariants
from service.authz.invariants.statements import NONE, Apart, OnlyRoles

GOOD = """\
statements:
  - name: deletion
    reason: it can't be undone
    only_roles: [super]
    reach: ["DELETE /api/user/{id}"]
"""


def written(folder: Path, text: str, name: str = "stated.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_statement_keeps_its_name_its_reason_and_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)

    (statement,) = read_invariants([path]).statements

    assert statement == OnlyRoles(
        name="deletion",
        reason="it can't be undone",
        place=f"{path}:2",
        roles=("super",),
        requests=("DELETE /api/user/{id}",),
    )


def test_lines_that_can_not_be_policy_lines_are_refused_by_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, "lines:\n  - p, service, portcullis list, a:b\n  - p, servise, x, a:b\n")

    with pytest.raises(PolicyError, match=f"^{path}:3: the layer is resource"):
        read_invariants([path])


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    other = "statements: [{name: apart, reason: x, no_user_holds: ['a:b', 'a:c'], except_roles: [super]}]\n"

    invariants = read_invariants([written(tmp_path, GOOD), written(tmp_path, other, "other.yaml")])

    assert [type(statement) for statement in invariants.statements] == [OnlyRoles, Apart]
    assert (invariants.about_roles, invariants.about_users) == (True, True)
    assert read_invariants([]) == NONE
    assert (NONE.about_roles, NONE.about_users) == (False, False)


@pytest.mark.parametrize(
    ("wrong", "right", "line", "reason"),
    [
        ("name: deletion", "name: Deletion!", 2, "a name is words"),
        ("reason: it can't be undone", "reason: ' '", 3, "the reason is missing"),
        ("    reason: it can't be undone\n", "", 2, "missing required field `reason`"),
        ("only_roles: [super]", "only_rolls: [super]", 2, "unknown field `only_rolls`"),
        ("only_roles: [super]", "only_roles: []", 4, "names at least one"),
        ("only_roles: [super]", "only_roles: super", 4, "Expected `array"),
        ("    only_roles: [super]\n", "", 2, "exactly one of only_roles, only_holders_of"),
        ("only_roles: [super]", "only_roles: [super]\n    no_role_holds: [a, b]", 2, "exactly one of"),
        ("only_roles: [super]", "no_role_holds: [a]", 4, "two or more codes"),
        ("only_roles: [super]", "no_role_holds: [a, b]", 5, "reach does not belong to no_role_holds"),
        ("only_roles: [super]", "no_role_holds: [a, 'a:*']", 4, "has a wildcard"),
        ("only_roles: [super]", "only_holders_of: [A]", 4, "'A' is no permission code"),
        ("only_roles: [super]", "code_needed_for: [READ]", 4, "none of GET, POST"),
        ('["DELETE /api/user/{id}"]', "[DELETE api]", 5, "a path starts with '/'"),
        ('["DELETE /api/user/{id}"]', "[]", 5, "needs reach"),
        ("statements:", "codes: '['\nstatements:", 1, "no regular expression"),
        ("statements:", "'@anyone': {resource: []}\nstatements:", 1, "missing required field `endpoint`"),
    ],
)
def test_a_fault_is_named_with_file_and_line(
    tmp_path: Path, wrong: str, right: str, line: int, reason: str
) -> None:
    assert wrong in GOOD
    path = written(tmp_path, GOOD.replace(wrong, right))

    with pytest.raises(PolicyError) as refused:
        read_invariants([path])

    assert f"{path}:{line}: " in str(refused.value)
    assert reason in str(refused.value)


def test_a_name_is_given_once_in_all_files(tmp_path: Path) -> None:
    first, two = written(tmp_path, GOOD), written(tmp_path, GOOD, "two.yaml")

    with pytest.raises(PolicyError, match=f"{two}:2: the name deletion is there already, in {first}:2"):
        read_invariants([first, two])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        read_invariants([tmp_path / "none.yaml"])
