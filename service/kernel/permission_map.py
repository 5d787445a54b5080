"""The permission map: which bit of a token stands for which permission code."""

import base64
import binascii
from collections.abc import Iterable, Mapping


class PermissionMap:
    """An immutable map of codes to the bit positions of their Buttons.

    A position is reused only once every token with its old meaning has expired, so a bit can only mean the
    code it was issued for, or nothing.
    """

    __slots__ = ("_by_bit", "_by_code")

    def __init__(self, bits: Mapping[str, int]) -> None:
        if any(bit < 0 for bit in bits.values()):
            raise ValueError("a bit position is negative")
        self._by_code = dict(bits)
        self._by_bit = {bit: code for code, bit in bits.items()}
        if len(self._by_bit) != len(self._by_code):
            raise ValueError("two codes share a bit position")

    def __bool__(self) -> bool:
        return bool(self._by_code)

    @property
    def positions(self) -> dict[str, int]:
        """The bit position of each code, sorted by code."""
        return dict(sorted(self._by_code.items()))

    @property
    def highest(self) -> int:
        """The highest position of a code; -1 if the map is empty."""
        return max(self._by_bit, default=-1)

    def encode(self, codes: Iterable[str]) -> str:
        """Return ``codes`` as standard base64 with padding; bit ``n`` is in byte ``n >> 3``, lowest first.

        Codes that the map does not know are left out: they grant nothing until it does.
        """
        bits = [self._by_code[code] for code in codes if code in self._by_code]
        if not bits:
            return ""
        packed = bytearray((max(bits) >> 3) + 1)
        for bit in bits:
            packed[bit >> 3] |= 1 << (bit & 7)
        return base64.b64encode(packed).decode("ascii")

    def decode(self, text: str) -> frozenset[str]:
        """Return the codes whose bits are set; unknown bits mean nothing. ValueError for bad base64."""
        try:
            packed = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError("the permission bits are not base64") from error
        by_bit = self._by_bit
        return frozenset(
            by_bit[position]
            for index, byte in enumerate(packed)
            if byte
            for position in range(index * 8, index * 8 + 8)
            if byte >> (position & 7) & 1 and position in by_bit
        )
