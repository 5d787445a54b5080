"""The parts of a matcher: its two equalities, and the rows in which a line's code can allow a caller.

The parts are Python expressions, as Casbin passes them to simpleeval. So mutants are possible that the lint
of a model would refuse.
"""

import ast
import re
from dataclasses import dataclass

from service.laboratory.lint.matcher import as_python, parts
from service.laboratory.lint.model import parsed_model

_NAME = re.compile(r"\b([rp])_(layer|object|caller|code)\b")
_HOLDS = re.compile(r"\b(?:holds\w+|satisfies\b)")
_WORD = re.compile(r"'(@\w+)'")


@dataclass(frozen=True, slots=True)
class Matcher:
    """The parts of a matcher, joined by ``and``; ``rows`` are joined by ``or``."""

    layers: str
    objects: str
    rows: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The whole matcher."""
        return joined(self.layers, self.objects, self.rows)

    @property
    def splits_by_code(self) -> bool:
        """True if a set of held codes is allowed exactly if one of its codes is, or the empty set.

        A row with two predicates of one caller may hold only for two codes together.
        """
        return all(len(_HOLDS.findall(row)) <= 1 for row in self.rows)


def joined(layers: str, objects: str, rows: tuple[str, ...]) -> str:
    """Return a matcher with these equalities and rows; without rows it is false."""
    return f"{layers} and {objects} and ({' or '.join(f'({row})' for row in rows) or 'False'})"


def matcher_of(model_text: str) -> Matcher:
    """Return the parts of a linted model's matcher."""
    value = parsed_model(model_text).partition("m = ")[2]
    demanded, conditions = parts(ast.parse(as_python(value).strip(), mode="eval").body)
    layers, objects = sorted(demanded, key=lambda pair: "r_object" in pair)
    match conditions:
        case [ast.BoolOp(op=ast.Or(), values=values)]:
            rows = tuple(map(ast.unparse, values))
        case _:
            rows = (" and ".join(f"({ast.unparse(condition)})" for condition in conditions),)
    return Matcher(_equality(layers), _equality(objects), rows)


def _equality(pair: frozenset[str]) -> str:
    line, request = sorted(pair)
    return f"{request} == {line}"


def conjuncts(row: str) -> tuple[str, ...]:
    """Return the parts of ``row`` that are joined by ``and``; ``row`` itself when there is only one."""
    match ast.parse(row, mode="eval").body:
        case ast.BoolOp(op=ast.And(), values=values):
            return tuple(map(ast.unparse, values))
    return (row,)


def name_of(row: str) -> str:
    """Return the usual name of a row: ``holdsSubtree``, ``@login``; otherwise its text."""
    match = _HOLDS.search(row) or _WORD.search(row)
    return match.group(match.lastindex or 0) if match else shown(row)


def shown(expression: str) -> str:
    """Return ``expression`` as a model writes it."""
    text = _NAME.sub(r"\1.\2", expression).replace("'", '"')
    return text.replace(" and ", " && ").replace(" or ", " || ")
