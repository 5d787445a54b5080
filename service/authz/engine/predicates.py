"""The six functions that ``model.conf`` calls, with their names there.

Any Casbin with these six functions and the published lines makes the same decisions. The caller is passed as
one opaque value, since simpleeval, which evaluates the matcher, walks through every list or set it is given.
A value of another type than held codes counts as not logged in and without codes. A value of another type
than satisfied words satisfies none.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from service.kernel.assurance import Satisfied
from service.kernel.codes import HeldCodes


class Anonymous:
    """The caller of a request without a session."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Anonymous()"


ANONYMOUS: Final = Anonymous()


def is_logged_in(caller: object) -> bool:
    """True if ``caller`` has a session, even without any code."""
    return isinstance(caller, HeldCodes)


def holds_exactly(caller: object, code: str) -> bool:
    """True if ``caller`` holds ``code`` itself; never for an ``@`` word or an empty text."""
    return isinstance(caller, HeldCodes) and code != "" and caller.holds_exactly(code)


def holds_everything(caller: object, code: str) -> bool:
    """True if ``caller`` holds ``*`` and ``code`` is a permission code."""
    return isinstance(caller, HeldCodes) and caller.holds_everything(code)


def holds_subtree(caller: object, code: str) -> bool:
    """True if ``caller`` holds a code like ``a:b:*`` and ``code`` is below ``a:b``."""
    return isinstance(caller, HeldCodes) and caller.holds_subtree(code)


def holds_pattern(caller: object, code: str) -> bool:
    """True if ``caller`` holds a code with a ``*`` before its last segment that matches ``code``."""
    return isinstance(caller, HeldCodes) and caller.holds_pattern(code)


def satisfies(caller: object, code: str) -> bool:
    """True if ``code`` is a word about authentication that ``caller`` satisfies."""
    return isinstance(caller, Satisfied) and code in caller.codes


PREDICATES: Final[Mapping[str, Callable[..., bool]]] = MappingProxyType(
    {
        "isLoggedIn": is_logged_in,
        "holdsExactly": holds_exactly,
        "holdsEverything": holds_everything,
        "holdsSubtree": holds_subtree,
        "holdsPattern": holds_pattern,
        "satisfies": satisfies,
    }
)

HOLDING: Final[Mapping[str, Callable[..., bool]]] = MappingProxyType(
    {name: holds for name, holds in PREDICATES.items() if name.startswith("holds")}
)
"""Those about held codes."""
