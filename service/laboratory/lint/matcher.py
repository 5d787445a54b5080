"""Strict checks of a matcher: its grammar, what it must allow, and what it must never allow."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from casbin.util import SimpleEval, escape_assertion

from service.authz.engine.predicates import ANONYMOUS, PREDICATES, Anonymous
from service.authz.engine.rules import ANYONE, ASSURANCE, ENDPOINT, LOGIN, OPENING_NOTHING, RESOURCE
from service.kernel.assurance import TWO_FACTORS, Authentication, Satisfied, words_at
from service.kernel.codes import HeldCodes

Piece = tuple[int, str]
"""A line number and the part of the value on that line."""

MOST_CHARACTERS: Final = 4096
"""The longest matcher, in characters: about seven times the shipped one."""

_EQUALITIES: Final = (frozenset({"r_layer", "p_layer"}), frozenset({"r_object", "p_object"}))
_LITERALS: Final = (ANYONE, LOGIN)
_ARGUMENTS: Final = {name: 1 if name == "isLoggedIn" else 2 for name in PREDICATES}
# The syntax common to matchers of all Casbins: pycasbin evaluates Python, which also has words such as "and".
_COMMON: Final = re.compile(
    rf"""(?:\s+|&&|\|\||==|[()]|,(?!\s*\))|[rp]\.\w+|(?:{"|".join(PREDICATES)})\b|"[^"]*"|'[^']*')*"""
)


class Probe(NamedTuple):
    """A test of every matcher: does a line with ``code`` allow ``caller``?

    ``opens`` is the right answer; ``reason`` describes the fault of a matcher with another one.
    """

    opens: bool
    code: str
    caller: HeldCodes | Satisfied | Anonymous
    reason: str


def _row(name: str, code: str, caller: HeldCodes | Satisfied | Anonymous) -> Probe:
    return Probe(
        True, code, caller, f"the row {name} is missing or too narrow: {code} stays closed to {caller}"
    )


def _never(reason: str, code: str, *callers: HeldCodes | Satisfied | Anonymous) -> tuple[Probe, ...]:
    return tuple(Probe(False, code, caller, reason) for caller in callers)


_NONE: Final = HeldCodes()
_PASSWORD: Final = words_at(Authentication(), 0.0)
_FACTORS: Final = words_at(Authentication("mfa"), 0.0)
_KEY: Final = words_at(None, 0.0, by_key=True)
PROBES: Final = (
    _row("@anyone", ANYONE, ANONYMOUS),
    _row("@anyone", ANYONE, _NONE),
    _row("@login", LOGIN, _NONE),
    _row("@login", LOGIN, HeldCodes(["*"])),
    _row("holdsExactly", "a:b", HeldCodes(["a:b"])),
    _row("holdsEverything", "a:b", HeldCodes(["*"])),
    _row("holdsSubtree", "a:b:c", HeldCodes(["a:*"])),
    _row("holdsSubtree", "a:b:c", HeldCodes(["a:b:*"])),
    _row("holdsPattern", "a:b:c", HeldCodes(["a:*:c"])),
    _row("satisfies", LOGIN, _PASSWORD),
    _row("satisfies", TWO_FACTORS, _FACTORS),
    *(
        probe
        for word in sorted(OPENING_NOTHING)
        for probe in _never(
            f"it opens {word}, which must never match",
            word,
            ANONYMOUS,
            _NONE,
            HeldCodes(["*", "*:*", "a:*", "*:a", word, "a:b"]),
            _FACTORS,
        )
    ),
    *_never(f"it opens {LOGIN} to callers without a session", LOGIN, ANONYMOUS),
    *_never("it opens permission codes to callers without a session", "a:b", ANONYMOUS),
    *_never("it opens permission codes to callers without permissions", "a:b", _NONE, _FACTORS),
    *_never(
        f"it opens {TWO_FACTORS} to callers that do not satisfy it",
        TWO_FACTORS,
        ANONYMOUS,
        HeldCodes(["*", TWO_FACTORS]),
        _PASSWORD,
        _KEY,
    ),
    *_never(f"it opens {LOGIN} to API keys in a layer about login methods", LOGIN, _KEY),
    *_never(
        "it opens a permission code to holders of another code", "a:b", HeldCodes(["a:c", "b:*", "b:*:b"])
    ),
)
"""Rows that a matcher must allow, and requests that it must never allow."""


def as_python(piece: str) -> str:
    """Return ``piece`` of a matcher as the expression that Casbin passes to simpleeval."""
    text = escape_assertion(piece).replace("&&", "and").replace("||", "or")
    return re.sub(r"!(?!=)", "not ", text)


def matcher_faults(pieces: Sequence[Piece]) -> list[Piece]:
    """Return ``(line, reason)`` for every fault of the matcher; empty if it is safe to use.

    Its grammar comes first, see ``grammar_faults``. Then every probe is evaluated.
    """
    first = pieces[0][0]
    return grammar_faults(pieces) or [(first, reason) for reason in _wrong_answers(_as_one_text(pieces))]


def grammar_faults(pieces: Sequence[Piece]) -> list[Piece]:
    """Return ``(line, reason)`` for every part of the matcher outside its grammar.

    A matcher is the two equalities of layer and object and one condition on the caller and the line's code,
    joined by ``&&``. The condition joins rows with ``||`` and ``&&``; a row compares ``p.code`` with
    ``"@anyone"`` or ``"@login"``, or calls one of the six predicates. Negation and other names or texts are
    refused. So the matcher cannot treat a single object, layer or code differently, and more codes never
    allow less.
    """
    first = pieces[0][0]
    text = _as_one_text(pieces)
    if len(text) > MOST_CHARACTERS:
        return [
            (
                first,
                f"the matcher has more than {MOST_CHARACTERS} characters, which is too long for a review",
            )
        ]
    if text != as_python("".join(piece for _, piece in pieces)):
        return [(first, "write r. for the request and p. for the line, without numbers")]
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        offset = getattr(error, "offset", None) or 1
        return [(_line(pieces, offset - 1), f"the matcher can't be parsed: {getattr(error, 'msg', error)}")]
    demanded, conditions = parts(tree)
    faults = [
        (_line(pieces, node.col_offset), reason)
        for condition in conditions
        for node, reason in _not_in_grammar(condition)
    ]
    faults += [(first, reason) for reason in _missing_equalities(demanded)]
    return faults or list(_only_python_reads(pieces))


def _only_python_reads(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the first word that no matcher of another Casbin has, such as ``and``."""
    text = "".join(piece for _, piece in pieces)
    common = _COMMON.match(text)
    if common is not None and (rest := text[common.end() :]):
        word = re.match(r"\w+|.", rest)
        before = len(text) - len(rest)
        line = next(number for number, piece in pieces if (before := before - len(piece)) < 0)
        yield (
            line,
            f"'{word[0] if word else rest}' is Python syntax: write a matcher with &&, || and ==",
        )


def _as_one_text(pieces: Sequence[Piece]) -> str:
    return "".join(as_python(piece) for _, piece in pieces)


def _line(pieces: Sequence[Piece], offset: int) -> int:
    for line, piece in pieces:
        offset -= len(as_python(piece))
        if offset < 0:
            return line
    return pieces[-1][0]


def parts(tree: ast.expr) -> tuple[list[frozenset[str]], list[ast.expr]]:
    """Return the top-level equalities of layer and object, and all other conjuncts."""
    demanded, conditions = [], []
    for part in _conjuncts(tree):
        pair = _pair(part)
        if pair in _EQUALITIES and pair not in demanded:
            demanded.append(pair)
        else:
            conditions.append(part)
    return demanded, conditions


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _conjuncts(value)
    else:
        yield node


def _pair(node: ast.expr) -> frozenset[str]:
    """Return both names of a comparison ``name == name``, else nothing."""
    match node:
        case ast.Compare(left=ast.Name(id=left), ops=[ast.Eq()], comparators=[ast.Name(id=right)]):
            return frozenset({left, right})
    return frozenset()


def _not_in_grammar(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _not_in_grammar(value)
        case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.NotEq()]):
            yield node, "negation is not allowed: more permissions must never lead to more refusals"
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            yield from _bad_comparison(node, left, right)
        case ast.Compare(ops=[_]):
            yield node, "texts can only be compared with =="
        case ast.Compare():
            yield node, "comparisons can't be chained: join them with &&"
        case ast.Call():
            yield from _bad_call(node)
        case _:
            yield (
                node,
                f"'{_shown(node)}' is neither a comparison nor a call: the matcher must be a boolean",
            )


def _bad_comparison(node: ast.expr, left: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match left, right:
        case (ast.Name(id="p_code"), ast.Constant(value=text)) | (
            ast.Constant(value=text),
            ast.Name(id="p_code"),
        ) if text in _LITERALS:
            return
    allowed = " or ".join(f'p.code == "{literal}"' for literal in _LITERALS)
    yield (
        node,
        (
            f"'{_shown(node)}' is not allowed: except for the two outer equalities, a comparison must be "
            f"{allowed}"
        ),
    )


def _bad_call(node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in _ARGUMENTS:
        yield node, f"the function '{name}' is unknown; the functions are {', '.join(_ARGUMENTS)}"
        return
    expected = ", ".join(["r.caller", "p.code"][: _ARGUMENTS[name]])
    given = [argument.id if isinstance(argument, ast.Name) else "" for argument in node.args]
    if node.keywords or ", ".join(given) != expected.replace(".", "_"):
        yield node, f"{name} must be called as {name}({expected})"


def _shown(node: ast.expr) -> str:
    return re.sub(r"\b([rp])_", r"\1.", ast.unparse(node))


def _missing_equalities(demanded: Sequence[frozenset[str]]) -> Iterator[str]:
    for pair in _EQUALITIES:
        if pair not in demanded:
            request, line = (name.replace("_", ".") for name in sorted(pair, reverse=True))
            yield f"'{request} == {line}' must apply to every line: join it by && at the outermost level"


def _wrong_answers(text: str) -> list[str]:
    expression = SimpleEval(text, dict(PREDICATES))
    reasons = {
        probe.reason: None
        for probe in PROBES
        for layer in (RESOURCE, ENDPOINT, ASSURANCE)
        if expression.eval(_names(layer, probe)) is not probe.opens
    }
    return list(reasons)


def _names(layer: str, probe: Probe) -> dict[str, object]:
    name = "GET /a"
    return {
        "r_layer": layer,
        "r_object": name,
        "r_caller": probe.caller,
        "p_layer": layer,
        "p_object": name,
        "p_code": probe.code,
    }
