"""Dialects: features whose bodies, answers and errors have a form of their own below a path.

And bodies of requests that bring their own reader.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from service.errors import Refusal
from service.web.messages.request import Request


class BodyReader(Protocol):
    """Reads the bodies of one operation."""

    async def read(self, request: Request) -> Any:
        """Return the body; raises the refusals of what can't be read."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The form of bodies and answers below ``prefix``, such as ``/scim/``.

    ``media`` is the type of bodies and answers. ``error_of`` returns the status and the document of a
    refusal, a Struct of the type ``error``. ``status_of`` returns the status of a class of refusals.
    ``refusals`` are further refusals of each operation.
    """

    prefix: str
    media: str
    error: type[Struct]
    error_of: Callable[[Refusal], tuple[int, Struct]]
    status_of: Callable[[type[Refusal]], int]
    refusals: tuple[type[Refusal], ...] = ()


class OwnBody:
    """The base of bodies that have other forms than JSON too.

    ``media_types`` are the types of a body as in the schema. ``further`` are the types of its other forms,
    with their descriptions in the API document.
    """

    __slots__ = ()

    media_types: ClassVar[tuple[str, ...]]

    @classmethod
    def body_reader(cls) -> BodyReader:
        """Return the reader of these bodies."""
        raise NotImplementedError

    @classmethod
    def further(cls, example: Any) -> Mapping[str, Any]:
        """Return other forms of the body by their media types; ``example`` is one as JSON."""
        del example
        return {}
