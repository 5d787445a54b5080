"""Passwords that are known from leaks: a filter, which is only asked whether it has a text.

``leaked_passwords_build`` makes the file of the filter; nobody outside is asked about a password. A filter
holds the first 40 bits of the SHA-256 digest of each text. So it finds every text that it was made of, and
another text by chance: one in 2.5 million for a filter of 430,000. Its form, all numbers little-endian:

- 257 numbers of four bytes: the number of digests below each first byte; the last is the number of all,
- 65,536 bytes: the number of digests that begin with each pair of bytes,
- the last three bytes of each digest, in the order of the digests.
"""

import struct
from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import accumulate
from typing import Final

FILE: Final = "leaked_passwords.filter"
SIZE: Final = 5  # bytes of a digest
_STARTS: Final = struct.Struct("<257I")
_PAIRS: Final = 65_536
_DIGESTS: Final = _STARTS.size + _PAIRS
_REST: Final = 3  # bytes of a digest behind its pair
_MOST: Final = 255  # digests that can begin with one pair


class TextFilter:
    """The texts of the filter ``content``; a lookup reads some ten bytes, and takes two microseconds."""

    def __init__(self, content: bytes) -> None:
        """Raises ValueError for bytes that are no filter."""
        if len(content) < _DIGESTS:
            raise ValueError("a filter is longer")
        self._content = content
        self._starts = _STARTS.unpack_from(content)
        if len(content) != _DIGESTS + _REST * len(self):
            raise ValueError("a filter of so many digests has another length")

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __contains__(self, text: str) -> bool:
        digest = _digest(text)
        row = _STARTS.size + digest[0] * 256
        pair = row + digest[1]
        place = _DIGESTS + _REST * (self._starts[digest[0]] + sum(self._content[row:pair]))
        end = place + _REST * self._content[pair]
        rest = digest[2:]
        return any(self._content[start : start + _REST] == rest for start in range(place, end, _REST))


def packed(texts: Iterable[str]) -> bytes:
    """Return the filter of ``texts``; the same ones make the same bytes, in whatever order.

    Raises ValueError for more texts than a filter can hold, about ten million.
    """
    digests = sorted({_digest(text) for text in texts})
    firsts = Counter(digest[0] for digest in digests)
    pairs = Counter(digest[0] * 256 + digest[1] for digest in digests)
    if max(pairs.values(), default=0) > _MOST:
        raise ValueError("the filter has too many texts")
    starts = accumulate((firsts[first] for first in range(256)), initial=0)
    counts = bytes(pairs[pair] for pair in range(_PAIRS))
    return _STARTS.pack(*starts) + counts + b"".join(digest[2:] for digest in digests)


@cache
def leaked_passwords() -> TextFilter:
    """Return the filter of leaked passwords, read once in a process: 1.3 MB, which forks of it share."""
    return TextFilter((files("service.authn") / FILE).read_bytes())


def _digest(text: str) -> bytes:
    # Half of a surrogate pair is no text, but may be sent as a password.
    return sha256(text.encode(errors="surrogatepass")).digest()[:SIZE]
