"""The five functions that ``model.conf`` calls, by the names it calls them.

Any Casbin that registers these five and loads the published lines decides as this service does. The caller
is passed as one opaque value: simpleeval, which evaluates the matcher, walks through every list or set that
it is handed. Whatever is not a set of held codes is nobody: it is not logged in and holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from service.kernel.codes import HeldCodes


class Anonymous:
    """The caller of a request without a session."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Anonymous()"


ANONYMOUS: Final = Anonymous()


def is_logged_in(caller: object) -> bool:
    """Tell whether there is a session behind ``caller``; a caller who holds no code is logged in too."""
    return isinstance(caller, HeldCodes)


def holds_exactly(caller: object, code: str) -> bool:
    """Tell whether ``caller`` holds ``code`` itself; never true of an ``@`` word or of nothing."""
    return isinstance(caller, HeldCodes) and code != "" and caller.holds_exactly(code)


def holds_everything(caller: object, code: str) -> bool:
    """Tell whether ``caller`` holds ``*`` and ``code`` is a permission code."""
    return isinstance(caller, HeldCodes) and caller.holds_everything(code)


def holds_subtree(caller: object, code: str) -> bool:
    """Tell whether ``caller`` holds ``a:b:*`` and ``code`` lies below ``a:b``."""
    return isinstance(caller, HeldCodes) and caller.holds_subtree(code)


def holds_pattern(caller: object, code: str) -> bool:
    """Tell whether ``caller`` holds a code with a ``*`` before its last segment that fits ``code``."""
    return isinstance(caller, HeldCodes) and caller.holds_pattern(code)


PREDICATES: Final[Mapping[str, Callable[..., bool]]] = MappingProxyType(
    {
        "isLoggedIn": is_logged_in,
        "holdsExactly": holds_exactly,
        "holdsEverything": holds_everything,
        "holdsSubtree": holds_subtree,
        "holdsPattern": holds_pattern,
    }
)
