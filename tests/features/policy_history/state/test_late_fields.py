"""A late field that a state file leaves out keeps what is stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from service.features.policy_history.state import TYPES, RoleState, State, state_of
from service.features.policy_history.state_edits import edits_between
from service.features.policy_history.state_entries import members_of
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.kernel.fields import Field, declared
from service.kernel.value_rules import DESCRIPTION
from service.laboratory.strict_yaml import YamlError
from service.records.roles import RoleValues

FILE = "format: 1\nmenus: {}\nbuttons: {}\nresources: {}\nroles:\n  auditor: {name: Auditor%s}\n"


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkedValues(RoleValues):
    """A role as it may be in a later version."""

    remark: Annotated[str | None, Field(DESCRIPTION, late=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkedRole(RoleState):
    """Its state."""

    remark: str | None = None


@pytest.fixture(autouse=True)
def _later_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(TYPES, "role", (RemarkedRole, RemarkedValues))
    members_of.cache_clear()
    yield
    members_of.cache_clear()


def stored(remark: str | None) -> State:
    return state_of({"role": {"auditor": RemarkedRole(role_name="Auditor", remark=remark)}})


def read(folder: Path, answer: str = "") -> State:
    path = folder / "state.yaml"
    path.write_text(FILE % answer, encoding="utf-8")
    return read_state(path)


def test_a_file_without_it_keeps_what_is_stored(tmp_path: Path) -> None:
    assert not edits_between(stored("Keep me"), read(tmp_path), prune=True)


def test_a_file_without_it_makes_a_new_object_with_its_default(tmp_path: Path) -> None:
    (edit,) = edits_between(state_of({}), read(tmp_path), prune=True).edits

    assert edit.after == RemarkedRole(role_name="Auditor", remark=None)


@pytest.mark.parametrize(("answer", "remark"), [(", remark: null", None), (", remark: New", "New")])
def test_what_a_file_says_of_it_is_stored(tmp_path: Path, answer: str, remark: str | None) -> None:
    (edit,) = edits_between(stored("Old"), read(tmp_path, answer), prune=True).edits

    assert edit.changes == {"remark": ("Old", remark)}


@pytest.mark.parametrize("remark", [None, "Of the keys"])
def test_it_is_always_written_so_that_a_file_brings_back_what_it_was_made_of(
    tmp_path: Path, remark: str | None
) -> None:
    path = tmp_path / "state.yaml"
    path.write_text(as_yaml(stored(remark)), encoding="utf-8")

    assert edits_between(stored("Since then"), read_state(path), prune=True).edits[0].after == RemarkedRole(
        role_name="Auditor", remark=remark
    )


def test_its_values_are_checked_as_those_of_other_fields(tmp_path: Path) -> None:
    with pytest.raises(YamlError, match=r"roles\.auditor\.remark"):
        read(tmp_path, f", remark: {'a' * 1001}")
