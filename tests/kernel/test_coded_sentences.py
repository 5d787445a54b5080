"""Sentences of refusals and faults: templates, their codes, and that each is raised by its code."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, NoneType
from typing import get_type_hints

import msgspec
import pytest

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.errors import ValidationFailed
from service.kernel import fields
from service.kernel.coded_sentences import OTHER, Sentence, Sentences, parameters_of, parsed
from service.kernel.core_sentences import every_sentence, sentence
from service.kernel.feature import declared
from service.web.requests.problems import document, refusals

SERVICE = Path(__file__).resolve().parents[2] / "service"
OUR_OWN = {"service/kernel/coded_sentences.py", "service/errors.py"}
"""The mechanism itself."""
PASSED_ON = {
    "service/laboratory/invariants/reading.py",
    "service/features/operations/api.py",
    "service/features/operations/job_runner.py",
    "service/kernel/operator_error.py",
    "service/kernel/stored_sentences.py",
    "service/laboratory/strict_yaml.py",
    "service/kernel/type_faults.py",
}
"""Pass on a text of a parser, for the operator who reads a file; a finding, whose codes have a test; the
result of a job of an extension; a cause of an older version; or a reason of an operator's invariant.
"""

SAYINGS = Sentences(
    {
        "plain": "It can't be",
        "counted": "has {count, plural, =0 {none} one {# user} other {# users}}",
        "chosen": "is {kind, select, text {a text{most, plural, one {} other { of {most}}}} other {else}}",
    }
)


@pytest.mark.parametrize(
    ("code", "params", "text"),
    [
        ("plain", {}, "It can't be"),
        ("counted", {"count": 0}, "has none"),
        ("counted", {"count": 1}, "has 1 user"),
        ("counted", {"count": 2}, "has 2 users"),
        ("chosen", {"kind": "text", "most": 8}, "is a text of 8"),
        ("chosen", {"kind": "list", "most": 8}, "is else"),
    ],
)
def test_a_template_is_filled(code: str, params: dict[str, object], text: str) -> None:
    made = SAYINGS(code, **params)
    assert (made, made.code, made.params) == (text, code, params)
    assert parameters_of(SAYINGS.texts[code]) == sorted(params)


@pytest.mark.parametrize("template", ["{", "}", "{a", "{a, plural, one {x}}", "{a, other}", "{a, select}"])
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="malformed"):
        parsed(template)


def test_an_unknown_code_and_a_missing_parameter_are_errors() -> None:
    for code in ("unknown", "counted"):
        with pytest.raises(KeyError):
            SAYINGS(code)


def test_parameters_are_plain_json() -> None:
    params = sentence(
        "body_fault", field=("a", 1), fault=sentence("out_of_range", least=1, most=2**63)
    ).params
    assert msgspec.json.decode(msgspec.json.encode(params)) == {
        "field": ["a", "1"],
        "fault": {
            "code": "out_of_range",
            "params": {"least": 1, "most": str(2**63)},
            "message": f"must be a whole number from 1 to {2**63}",
        },
    }


def test_a_copy_keeps_code_and_parameters() -> None:
    made = copy.copy(SAYINGS("counted", count=2))
    assert (made, made.code, made.params) == ("has 2 users", "counted", {"count": 2})


def test_a_fault_has_the_code_and_the_parameters_of_its_message() -> None:
    refusal = ValidationFailed(("password", sentence("too_short", least=8, most=128)))
    (error,) = msgspec.json.decode(document(refusal, "1"))["errors"]
    assert error == {
        "field": "password",
        "code": "too_short",
        "params": {"least": 8, "most": 128},
        "message": "must have 8 to 128 characters",
    }


def test_no_code_is_declared_twice_or_is_that_of_a_refusal() -> None:
    declarations = Counter([*sentence.texts])
    for feature in declared():
        folder = SERVICE / "features" / feature.name / "sentences.py"
        assert folder.exists() == bool(feature.sentences), feature.name
        if feature.sentences:
            declarations.update([*feature.part(feature.sentences).texts])
    assert [code for code, times in declarations.items() if times > 1] == []
    assert declarations.keys() & {refusal.code for refusal in refusals()} == set()


@cache
def raised() -> list[tuple[str, str, frozenset[str] | None]]:
    """Return each sentence that the service makes: place, code and parameters, None for unknown ones."""
    made: list[tuple[str, str, frozenset[str] | None]] = []
    for path in sorted(SERVICE.rglob("*.py")):
        name = str(path.relative_to(SERVICE.parent))
        for call in calls(path, {"sentence"}):
            keywords = None if any(each.arg is None for each in call.keywords) else call.keywords
            params = None if keywords is None else frozenset(str(each.arg) for each in keywords)
            place = f"{name}:{call.lineno}"
            made += [(place, code, params) for code in codes(call.args[0])]
        for call in calls(path, {"partial"}):  # called with the parameters that it lacks
            if ast.unparse(call.args[0]) == "sentence":
                made += [(f"{name}:{call.lineno}", code, None) for code in codes(call.args[1])]
    return made


def calls(path: Path, names: set[str]) -> Iterator[ast.Call]:
    return (call for name, call in named_calls(path) if name in names)


@cache
def named_calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Return each call of a plain or a dotted name in a file, such as ``Sentence.of``."""
    made = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                made.append((name, node))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)):
                made.append((f"{name}.{attribute}", node))
    return made


def codes(argument: ast.expr) -> list[str]:
    """Return the codes that ``argument`` may be: literals, also those that a function chooses from."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.IfExp):
        return [*codes(argument.body), *codes(argument.orelse)]
    return []


COMPUTED = {
    "must_be_text",
    "must_be_list",
    "must_be_object",
    "must_be_integer",
    "must_be_number",
    "must_be_boolean",
    "must_be_time",
    "must_be_of_other_form",
    "text_too_short",
    "text_too_long",
    "text_of_other_form",
    "list_too_short",
    "list_too_long",
    "integer_out_of_range",
    "too_short",
    "wrong_length",
    "other",
    "cell_with_date",
    "cell_with_error",
    "cell_with_formula",
    "cell_rounded",
    "author_gone",
}
"""Codes that are chosen by a value: see ``sentences.py`` of the kernel, ``password_rules.py`` and
``workbook_reading.py``. The text of the last one is written by a function of the database.
"""


def test_each_sentence_is_declared_and_raised_with_its_parameters() -> None:
    texts = every_sentence()
    wrong = [
        f"{place}: {code} with {sorted(params or ())}"
        for place, code, params in raised()
        if code not in texts or (params is not None and sorted(params) != parameters_of(texts[code]))
    ]
    assert wrong == []


def test_each_declared_sentence_is_raised() -> None:
    of_features = {code for feature in declared() for code in feature.by_people.values()}
    of_statements = {each.reason.code for each in read_shipped().invariants.statements}
    used = {code for _, code, _ in raised()} | COMPUTED | of_features | of_statements
    assert sorted(every_sentence().keys() - used) == []


def test_no_refusal_or_fault_has_a_text_without_a_code() -> None:
    """Their constructors take sentences alone, as mypy checks; so no sentence is made beside a registry."""
    beside = [
        f"{path.relative_to(SERVICE.parent)}:{call.lineno}"
        for path in sorted(SERVICE.rglob("*.py"))
        for call in calls(path, {"Sentence", "Sentence.of"})
        if str(path.relative_to(SERVICE.parent)) not in OUR_OWN | PASSED_ON
    ]
    assert beside == []
    assert isinstance(sentence("required"), Sentence)


FOR_OPERATORS = (
    "service/authz/engine/compiled_matcher",
    "service/authz/engine/rules",
    "service/laboratory/invariants/reading",
    "service/laboratory/lint/",
    "service/authz/publishing/demand",
    "service/authz/publishing/shipped",
    "service/features/policy_tests/",
    "service/laboratory/",
)
"""Read files at a start, or for a command."""


def test_no_fault_of_policy_lines_that_a_client_may_see_has_a_text_without_a_code() -> None:
    """``PolicyError`` takes sentences alone, as mypy checks."""
    beside = [
        f"{path.relative_to(SERVICE.parent)}:{call.lineno}"
        for path in sorted(SERVICE.rglob("*.py"))
        for call in calls(path, {"PolicyFileError"})
        if not str(path.relative_to(SERVICE.parent)).startswith(FOR_OPERATORS)
        and not path.name.startswith("commands_")
    ]
    assert beside == []


def test_each_reason_of_a_shipped_invariant_has_a_code() -> None:
    reasons = [statement.reason for statement in read_shipped().invariants.statements]
    assert [str(reason) for reason in reasons if reason.code == OTHER] == []
    assert len({reason.code for reason in reasons}) > 6


def test_each_rule_of_a_field_returns_a_sentence() -> None:
    """Mypy does not read the rules in annotations."""
    check_routes(read_shipped())  # imports every declaration
    declarations = [field for kind in list(fields._DECLARED) for field in fields.fields_of(kind).values()]
    kinds = {field.rule: return_of(field.rule) for field in declarations}
    assert len(kinds) > 20
    assert {kind for kind in kinds.values() if kind not in (Sentence | None, NoneType)} == set()


def return_of(rule: fields.Rule) -> object:
    """Return the annotated result of a rule, which may be an object that is called."""
    return get_type_hints(rule if isinstance(rule, FunctionType) else type(rule).__call__)["return"]


def test_no_template_has_an_apostrophe_before_a_brace() -> None:
    """In ICU messages it would quote what follows."""
    assert [code for code, text in every_sentence().items() if re.search("'[{}#]", text)] == []
