"""What the headers of a question say."""

from collections.abc import Iterable
from typing import Final

from service import errors
from service.features.follower.point import AtLeast

AT_LEAST: Final = b"portcullis-at-least"
_DIGITS: Final = 19  # of the largest number of a revision or a transaction
_JSON: Final = [b"application/json"]


class SentHeaders:
    """The headers of a request that count here, found by one look at all of them.

    ``host`` is None for none and for several. ``is_json``: the body is said to be plain JSON, no more and no
    less. ``demanded`` is what the answer must know of at least.
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
    """Return what a header demands, such as ``revision=12, rights=8412``; BadRequest for anything else.

    So is a number that is demanded twice: who has the greater of two transactions may lack the other.
    """
    numbers: dict[str, int] = {}
    for part in b",".join(demanded).decode("latin-1").split(","):
        name, _, number = part.strip().partition("=")
        known = name in AtLeast._fields and name not in numbers
        if not (known and number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
            raise errors.BadRequest("Portcullis-At-Least is revision=NUMBER, rights=NUMBER, or one of them")
        numbers[name] = int(number)
    return AtLeast(**numbers)
