from __future__ import annotations

import re

import msgspec
import pytest

from service.authz.engine.rules import ANYONE, LOGIN, NOBODY
from tests.policies.stock import POLICIES, SHIPPED

Words = dict[str, list[str]]


class Invariants(msgspec.Struct, forbid_unknown_fields=True):
    codes: str
    anyone: Words = msgspec.field(name=ANYONE)
    login: Words = msgspec.field(name=LOGIN)
    nobody: Words = msgspec.field(name=NOBODY)


BASE, ENDPOINTS = SHIPPED.base, SHIPPED.endpoints
STATED = msgspec.yaml.decode((POLICIES / "invariants.yaml").read_bytes(), type=Invariants)


@pytest.mark.parametrize("layer", ["resource", "endpoint"])
@pytest.mark.parametrize(
    ("word", "stated"), [(ANYONE, STATED.anyone), (LOGIN, STATED.login), (NOBODY, STATED.nobody)]
)
def test_the_lines_open_exactly_what_the_invariants_state(word: str, stated: Words, layer: str) -> None:
    found = [rule.object for rule in (*BASE, *ENDPOINTS) if (rule.layer, rule.code) == (layer, word)]

    assert sorted(found) == sorted(stated[layer])


def test_every_other_code_looks_as_stated() -> None:
    codes = {rule.code for rule in (*BASE, *ENDPOINTS)} - {ANYONE, LOGIN, NOBODY}

    assert codes
    assert {code for code in codes if not re.fullmatch(STATED.codes, code)} == set()


def test_an_object_that_is_open_to_everybody_has_no_further_line() -> None:
    rules = (*BASE, *ENDPOINTS)
    words = {rule[:2]: rule.code for rule in rules if rule.code.startswith("@")}

    assert [rule for rule in rules if rule[:2] in words and words[rule[:2]] != rule.code] == []
