"""The policy of a follower: the enforcer is asked once about equivalent objects and callers."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.kernel.assurance import Satisfied
from service.kernel.codes import HeldCodes

_MOST: Final = 100_000  # answers; a service has many resources and users, and few sets of codes


class _AlikeEnforcer(IndexedEnforcer):
    """Caches an answer for all objects with the same codes and all callers with the same relevant codes.

    The lint ensures that layer and object are exact keys of the matcher, so only the codes of its lines
    matter of an object. A held code without a wildcard grants itself alone. So only the codes of the lines,
    and held codes with a wildcard, can matter. Callers of subclasses, such as ``ExceptCodes``, are alike only
    if they are equal. The hub asks about each object, since it tries faulty models as well. A test compares
    the answers.
    """

    def __init__(self, model_text: str, rules: Iterable[Rule]) -> None:
        self._alike: dict[tuple[object, ...], tuple[bool, str | None]] = {}
        super().__init__(model_text, rules)

    def enforce_ex(self, *request: Any) -> tuple[bool, Rule | None]:
        """Decide as ``IndexedEnforcer`` does."""
        layer, object_, caller = request
        codes = self._all.codes(layer, object_)
        matters = caller.codes if isinstance(caller, Satisfied) else caller
        is_plain = type(caller) is HeldCodes
        if is_plain:
            matters = _of(caller, codes)
        key = layer, codes, matters
        known = self._alike.get(key)
        if known is None:
            alike = HeldCodes(matters) if is_plain else caller
            allowed, line = super().enforce_ex(layer, object_, alike)
            if len(self._alike) >= _MOST:
                self._alike.clear()
            known = self._alike[key] = allowed, None if line is None else line[2]
        allowed, code = known
        return allowed, None if code is None else Rule(layer, object_, code)


class FollowedPolicy(Policy):
    """A policy with such an enforcer."""

    _ENFORCER: ClassVar[type[IndexedEnforcer]] = _AlikeEnforcer


def _of(held: HeldCodes, codes: tuple[str, ...]) -> frozenset[str]:
    """Return those of the held codes that may grant one of ``codes``."""
    granting = held.codes.intersection(codes)
    if held.everything or held.subtrees or held.patterns:
        granting = granting.union(code for code in held.codes if "*" in code)
    return granting
