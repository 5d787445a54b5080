"""The strict reading of a matcher: which expressions are one, and what none may ever open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from casbin.util import SimpleEval, escape_assertion

from service.authz.predicates import ANONYMOUS, PREDICATES
from service.authz.rules import ENDPOINT, LOGIN, NOBODY, RESOURCE
from service.kernel.codes import HeldCodes

Piece = tuple[int, str]
"""A line number and the part of the value that stands on it."""

_TEXTS: Final = frozenset({"r_layer", "r_object", "p_layer", "p_object", "p_code"})
_EQUALITIES: Final = (frozenset({"r_layer", "p_layer"}), frozenset({"r_object", "p_object"}))
_ARGUMENTS: Final = {name: 1 if name == "isLoggedIn" else 2 for name in PREDICATES}

_NEVER: Final = (
    (NOBODY, HeldCodes(["*", "*:*", "a:*", NOBODY]), f"it opens {NOBODY}, which must match nothing"),
    (NOBODY, ANONYMOUS, f"it opens {NOBODY}, which must match nothing"),
    (LOGIN, ANONYMOUS, f"it opens {LOGIN} to callers without a session"),
    ("a:b", ANONYMOUS, "it opens permission codes to callers without a session"),
    ("a:b", HeldCodes(), "it opens permission codes to callers who hold none"),
    ("a:b", HeldCodes(["a:c"]), "it opens a permission code to callers who hold another"),
)
"""Code of the line, caller, and what is wrong when the line opens to that caller."""


def as_python(piece: str) -> str:
    """Return ``piece`` of a matcher as the expression that Casbin hands to simpleeval."""
    text = escape_assertion(piece).replace("&&", "and").replace("||", "or")
    return re.sub(r"!(?!=)", "not ", text)


def matcher_faults(pieces: Sequence[Piece]) -> list[Piece]:
    """Return ``(line, reason)`` for all that is wrong with the matcher; empty when it may be served.

    A matcher combines, with and, or, not: comparisons (``==``, ``!=``) of the request's and the line's
    texts and of literals, and calls of the five predicates. Each of those is a boolean, so the whole is.
    Both equalities must be demanded on the outside, so that a line speaks for its own object only and an
    empty policy opens nothing.
    """
    first = pieces[0][0]
    text = "".join(as_python(piece) for _, piece in pieces)
    if text != as_python("".join(piece for _, piece in pieces)):
        return [(first, "the request is written r. and the line p., without numbers")]
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        offset = getattr(error, "offset", None) or 1
        return [(_line(pieces, offset - 1), f"the matcher can't be parsed: {getattr(error, 'msg', error)}")]
    faults = [(_line(pieces, node.col_offset), reason) for node, reason in _not_boolean(tree)]
    faults += [(first, reason) for reason in _missing_equalities(tree)]
    return faults or [(first, reason) for reason in _openings(text)]


def _line(pieces: Sequence[Piece], offset: int) -> int:
    for line, piece in pieces:
        offset -= len(as_python(piece))
        if offset < 0:
            return line
    return pieces[-1][0]


def _not_boolean(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _not_boolean(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _not_boolean(operand)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            yield from (found for side in (left, right) for found in _not_text(side))
        case ast.Compare(ops=[_]):
            yield node, "texts are compared with == and != only"
        case ast.Compare():
            yield node, "comparisons are not chained: join them with &&"
        case ast.Call():
            yield from _bad_call(node)
        case _:
            yield node, f"'{_shown(node)}' is no comparison and no call: the matcher must be a boolean"


def _not_text(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.Constant(value=str()):
            return
        case ast.Name(id=name) if name in _TEXTS:
            return
        case ast.Name(id="r_caller"):
            yield node, "r.caller is opaque: only the predicates can look into it"
        case ast.Name(id=name):
            yield node, f"the name '{name}' is not known"
        case _:
            yield node, f"'{_shown(node)}' is no text that can be compared"


def _bad_call(node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in _ARGUMENTS:
        yield node, f"the function '{name}' is not known; there are {', '.join(_ARGUMENTS)}"
        return
    wanted = ", ".join(["r.caller", "p.code"][: _ARGUMENTS[name]])
    given = [argument.id if isinstance(argument, ast.Name) else "" for argument in node.args]
    if node.keywords or ", ".join(given) != wanted.replace(".", "_"):
        yield node, f"{name} is called as {name}({wanted})"


def _shown(node: ast.expr) -> str:
    return re.sub(r"\b([rp])_", r"\1.", ast.unparse(node))


def _missing_equalities(tree: ast.expr) -> Iterator[str]:
    demanded = {
        frozenset(side.id for side in (part.left, part.comparators[0]) if isinstance(side, ast.Name))
        for part in _conjuncts(tree)
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq)
    }
    for pair in _EQUALITIES:
        if pair not in demanded:
            request, line = (name.replace("_", ".") for name in sorted(pair, reverse=True))
            yield f"'{request} == {line}' must be demanded of every line, joined by && on the outside"


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _conjuncts(value)
    else:
        yield node


def _openings(text: str) -> list[str]:
    expression = SimpleEval(text, dict(PREDICATES))
    found = {
        reason: None
        for code, caller, reason in _NEVER
        for layer in (RESOURCE, ENDPOINT)
        if expression.eval(_names(layer, code, caller)) is not False
    }
    return list(found)


def _names(layer: str, code: str, caller: object) -> dict[str, object]:
    name = "GET /a"
    return {
        "r_layer": layer,
        "r_object": name,
        "r_caller": caller,
        "p_layer": layer,
        "p_object": name,
        "p_code": code,
    }
