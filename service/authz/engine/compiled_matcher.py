"""The matcher of ``model.conf`` as a function of Python, in place of an interpreter of its syntax tree.

Casbin hands each line to an object whose ``eval`` returns whether it matches, and keeps its loop, its effect
and its explanation. simpleeval walks the tree of the matcher anew for each line; here the same tree is
compiled once.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from service.authz.engine.rules import PolicyFileError

NAMES: Final = ("r_layer", "r_object", "r_caller", "p_layer", "p_object", "p_code")
"""The names of the model, as Casbin writes them in a matcher."""


class MatcherError(PolicyFileError):
    """A matcher has a part that is not compiled; the message names it."""


class CompiledMatcher:
    """A matcher; ``eval`` is what Casbin calls for each line."""

    __slots__ = ("_matches",)

    def __init__(self, tree: ast.expr, functions: Mapping[str, Callable[..., bool]]) -> None:
        """Compile the syntax tree that simpleeval would walk, with calls of ``functions``.

        Raises MatcherError for all but ``and``, ``or``, ``==``, ``NAMES``, texts and calls of ``functions``
        by position: nothing else is ever compiled.
        """
        _require_known(tree, functions)
        parameters = ast.arguments(
            posonlyargs=[], args=[ast.arg(name) for name in NAMES], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        function = ast.fix_missing_locations(ast.Expression(ast.Lambda(parameters, tree)))
        # The tree has names, comparisons and calls of our functions only: nothing else can run.
        known = {"__builtins__": {}, **functions}
        self._matches: Callable[..., bool] = eval(compile(function, "model.conf", "eval"), known)  # noqa: S307 - as above

    def eval(self, names: Mapping[str, Any]) -> bool:
        """Return whether a line matches a question; ``names`` has a value for each of ``NAMES``."""
        return self._matches(**names)


def _require_known(node: ast.expr, functions: Mapping[str, Callable[..., bool]]) -> None:
    match node:
        case ast.BoolOp(values=parts):
            pass
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            parts = [left, right]
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in functions:
            pass
        case ast.Name(id=name) if name in NAMES:
            parts = []
        case ast.Constant(value=str()):
            parts = []
        case _:
            raise MatcherError(f"a matcher has no '{ast.unparse(node)}'")
    for part in parts:
        _require_known(part, functions)
