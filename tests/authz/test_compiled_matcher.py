"""The compiled matcher answers what simpleeval answers, and compiles nothing else."""

import ast
import random
from pathlib import Path

import pytest
from casbin.util import SimpleEval

from service.authz.engine.compiled_matcher import CompiledMatcher, MatcherError
from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import LAYERS, Rule
from service.kernel.assurance import EVERY_CALLER, WORDS
from service.kernel.codes import HeldCodes
from service.laboratory.matcher_rows import Matcher, matcher_of
from tests.policies.stock import MODEL, stock_enforcer
from tests.support.cases import with_each

TEXT = MODEL.read_text("utf-8")
SEGMENTS = ("a", "b", "c")


def _code(chance: random.Random, *more: str) -> str:
    return ":".join(chance.choice((*SEGMENTS, *more)) for _ in range(chance.randint(1, 4)))


def _held(chance: random.Random) -> HeldCodes:
    codes = [_code(chance, "*") for _ in range(chance.randint(0, 4))]
    return HeldCodes([*codes, "*"] if chance.random() < 0.05 else codes)


def _object(chance: random.Random) -> str:
    return f"GET /o/{chance.randint(0, 60)}"


def _rules(chance: random.Random) -> list[Rule]:
    words = ("@anyone", "@login", "@nobody", *WORDS)
    made = {
        Rule(
            chance.choice(LAYERS),
            _object(chance),
            _code(chance) if chance.random() < 0.7 else chance.choice(words),
        )
        for _ in range(300)
    }
    return sorted(made)


@pytest.mark.parametrize("questions", [1_000, pytest.param(20_000, marks=pytest.mark.extended)])
def test_a_plain_casbin_gives_random_questions_the_same_answers_by_the_same_lines(
    tmp_path: Path, questions: int
) -> None:
    chance = random.Random(5)
    rules = _rules(chance)
    indexed, answers = IndexedEnforcer(TEXT, rules), set()
    # By object: a plain Casbin looks at every line that it has.
    plain = {
        name: stock_enforcer(tmp_path, lines)
        for name in {rule.object for rule in rules}
        if (lines := [rule for rule in rules if rule.object == name])
    }

    for _ in range(questions):
        layer, name = chance.choice(LAYERS), _object(chance)
        satisfied = layer == "assurance" and chance.random() < 0.9
        known = chance.choice(EVERY_CALLER) if satisfied else _held(chance)
        caller = ANONYMOUS if chance.random() < 0.1 else known
        allowed, line = indexed.enforce_ex(layer, name, caller)
        expected = plain[name].enforce_ex(layer, name, caller) if name in plain else (False, [])
        assert (allowed, list(line or ())) == (expected[0], list(expected[1])), (layer, name, caller)
        answers.add((layer, allowed))
    assert len(answers) > len(LAYERS)


def _mutants() -> list[str]:
    matcher = matcher_of(TEXT)
    rows = matcher.rows
    fewer = [
        Matcher(matcher.layers, matcher.objects, (*rows[:at], *rows[at + 1 :])) for at in range(len(rows))
    ]
    both = [Matcher(matcher.layers, matcher.objects, (f"({row}) and ({rows[0]})", *rows[1:])) for row in rows]
    looser = [Matcher("True == True", matcher.objects, rows)]
    return [each.expression.replace("True == True", "'a' == 'a'") for each in (*fewer, *both, *looser)]


@with_each("expression", _mutants())
def test_a_mutant_of_the_matcher_is_compiled_to_what_simpleeval_makes_of_it(expression: str) -> None:
    chance = random.Random(expression)
    walked = SimpleEval(expression, dict(PREDICATES))
    compiled = CompiledMatcher(ast.parse(expression, mode="eval").body, PREDICATES)

    for rule in _rules(chance):
        layer = rule.layer if chance.random() < 0.8 else "endpoint"
        caller = chance.choice((ANONYMOUS, _held(chance), chance.choice(EVERY_CALLER)))
        names = {"r_layer": layer, "r_object": rule.object, "r_caller": caller}
        names |= {"p_layer": rule.layer, "p_object": rule.object, "p_code": rule.code}
        assert compiled.eval(names) is walked.eval(names), names


@with_each(
    "expression",
    [
        "not isLoggedIn(r_caller)",
        "r_layer != p_layer",
        "r_layer == p_layer == p_object",
        "r_layer in p_layer",
        "r_caller.codes == p_code",
        "isLoggedIn(caller=r_caller)",
        "isLoggedIn(*r_caller)",
        "print(p_code)",
        "__import__('os')",
        "keyMatch(r_object, p_object)",
        "r_sub == p_sub",
        "p_code == 1",
        "True",
        "(lambda: True)()",
        "p_code == f'{r_object}'",
        "r_layer if p_layer else p_code",
        "[r_layer] == [p_layer]",
    ],
)
def test_nothing_else_is_compiled(expression: str) -> None:
    with pytest.raises(MatcherError, match="a matcher has no"):
        CompiledMatcher(ast.parse(expression, mode="eval").body, PREDICATES)


def test_a_model_with_anything_else_makes_no_enforcer() -> None:
    with pytest.raises(MatcherError, match="not isLoggedIn"):
        IndexedEnforcer(TEXT.replace("&& isLoggedIn(r.caller)", "&& !isLoggedIn(r.caller)"), [])


def test_casbin_keeps_the_loop_over_the_lines_the_effect_and_the_explanation() -> None:
    model = TEXT.replace("some(where (p.eft == allow))", "!some(where (p.eft == deny))")
    lines = [Rule("endpoint", "GET /a", "b:c")]
    # Casbin's other effect allows what no line denies: so it is Casbin that decides by what the matcher says.
    assert IndexedEnforcer(TEXT, lines).enforce_ex("endpoint", "GET /a", HeldCodes(["c"])) == (False, None)
    assert IndexedEnforcer(model, lines).enforce_ex("endpoint", "GET /a", HeldCodes(["c"]))[0] is True
