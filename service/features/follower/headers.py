"""Read the headers of a question."""

from collections.abc import Iterable
from typing import Final

from service import errors
from service.features.follower.point import AtLeast
from service.features.follower.sentences import sentence

AT_LEAST: Final = b"portcullis-at-least"
_DIGITS: Final = 19  # digits of the largest revision or transaction number
_JSON: Final = [b"application/json"]


class SentHeaders:
    """The relevant headers of a request, collected in one pass.

    ``host`` is None without exactly one header. ``is_json``: the body is declared as plain JSON, without
    parameters. ``demanded`` are the minimum revision and transaction of the answer.
    """

    __slots__ = ("demanded", "host", "is_json")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.demanded: list[bytes] = []
        hosts, types = [], []
        encoded = False
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"content-type":
                types.append(value)
            elif name == AT_LEAST:
                self.demanded.append(value)
            elif name == b"content-encoding":
                encoded = True
        self.host = hosts[0].decode("latin-1") if len(hosts) == 1 else None
        self.is_json = types == _JSON and not encoded


def at_least(demanded: list[bytes]) -> AtLeast:
    """Parse a header such as ``revision=12, rights=8412``; raises BadRequest for an invalid one.

    A repeated number is invalid: an answer with the greater of two transactions may lack the other.
    """
    numbers: dict[str, int] = {}
    for part in b",".join(demanded).decode("latin-1").split(","):
        name, _, number = part.strip().partition("=")
        known = name in AtLeast._fields and name not in numbers
        if not (known and number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
            raise errors.BadRequest(sentence("at_least_malformed"))
        numbers[name] = int(number)
    return AtLeast(**numbers)
