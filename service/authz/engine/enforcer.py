"""The enforcer: Casbin's own, given only the lines of the object in question.

Casbin evaluates its matcher once per line, so a scan of all lines takes milliseconds with a thousand
resources. Layer and object are exact keys, so lines of other keys cannot match; omitting them changes no
answer. The matcher is compiled (``compiled_matcher``). A property test compares this enforcer with a plain
``casbin.Enforcer``.
"""

import logging
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import casbin
from casbin.model import FunctionMap, Model

from service.authz.engine.compiled_matcher import CompiledMatcher
from service.authz.engine.lines import Lines
from service.authz.engine.predicates import PREDICATES
from service.authz.engine.rules import Rule

_CHANGES: Final = (
    "add_",
    "build_",
    "clear_",
    "delete_",
    "enable_",
    "load_",
    "remove_",
    "save_",
    "set_",
    "update_",
)
_SCANS: Final = (
    "get_all_",
    "get_filtered_",
    "get_implicit_",
    "get_named_implicit_",
    "get_permissions_",
    "has_",
)


class IndexedEnforcer(casbin.Enforcer):  # type: ignore[misc]  # casbin ships no types
    """A ``casbin.Enforcer`` over a fixed policy; build a new one for another policy.

    Thread-safe. Policy, model and functions can't be changed after construction, and it can't be switched
    off. Casbin's methods that search its list of lines are refused too, since that list has the candidates of
    one decision only.
    """

    _sealed = False

    def __init__(self, model_text: str, rules: Iterable[Rule]) -> None:
        """Build it from the text of a linted ``model.conf`` and all lines, in order.

        Raises MatcherError for a matcher that the lint does not admit.
        """
        model = Model()
        model.load_model_from_text(model_text)
        super().__init__(model)
        # Casbin's own functions for matching paths and codes are unsafe; the matcher gets only these six.
        self.fm = FunctionMap()
        for name, predicate in PREDICATES.items():
            self.fm.add_function(name, predicate)
        # Casbin would log every request, with all held codes, to its own logger.
        self.logger = logging.Logger("casbin.silent")  # noqa: LOG001 - outside the tree, so nothing switches it on
        self.logger.disabled = True
        self._lines = model["p"]["p"]
        self._lines.policy = ()
        self._lock = threading.Lock()
        self._all = rules if isinstance(rules, Lines) else Lines(rules)
        self._expression = _compiled(model["m"]["m"].value)
        self._sealed = True

    def enforce_ex(self, *request: Any) -> tuple[bool, Rule | None]:
        """Decide ``(layer, object, caller)``; return the answer and the line that allowed it.

        ``caller`` is a ``HeldCodes``, ``ANONYMOUS``, or in the layer ``assurance`` a ``Satisfied``. Raises
        ValueError for any other number of values, so also for Casbin's ``EnforceContext``, which would choose
        another matcher.
        """
        layer, name, caller = request
        lines = self._all.of(layer, name)
        if not lines:
            # Without lines Casbin would evaluate its matcher on a line of empty texts.
            return False, None
        # The lines and simpleeval's names are shared state of Casbin; concurrent decisions must not mix them.
        with self._lock:
            self._lines.policy = lines
            try:
                allowed, line = super().enforce_ex(layer, name, caller)
            finally:
                self._lines.policy = ()
        return allowed, line or None

    def get_named_policy(self, ptype: str) -> list[Rule]:
        """Return all lines, grouped by layer and object; Casbin's ``get_policy`` calls this too."""
        return list(self._all) if ptype == "p" else []

    def _get_expression(self, _text: str, _functions: Mapping[str, Any] | None = None) -> Any:
        # The lint allows one matcher, which can't be replaced: compile it once, not once per decision.
        return self._expression

    def __setattr__(self, name: str, value: object) -> None:
        if self._sealed:
            raise AttributeError(f"an enforcer is immutable: {name} can't be changed, build another one")
        super().__setattr__(name, value)


@cache
def _compiled(text: str) -> CompiledMatcher:
    # Casbin's own reading of the text, but for the last step.
    return CompiledMatcher(casbin.Enforcer._get_expression(text).ast_parsed_value, PREDICATES)  # noqa: SLF001 - as overridden


def _forbid(name: str) -> None:
    def refuse(_self: IndexedEnforcer, *_: object, **__: object) -> None:
        raise AttributeError(f"an enforcer is immutable and has no {name}: build another one")

    setattr(IndexedEnforcer, name, refuse)


for _name in dir(casbin.Enforcer):
    if _name.startswith((*_CHANGES, *_SCANS)):
        _forbid(_name)
