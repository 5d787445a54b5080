"""Internationalised domains: two spellings of one domain, in Unicode and as ``xn--…``, are one address.

Labels are those of IDNA 2008 (RFC 5890 §2.3.2.1), with the mapping of UTS #46.
"""

import re
from typing import Final
from unicodedata import normalize

_ENCODED: Final = re.compile(r"(?<![^@.])xn--([a-z0-9-]{1,59})(?![^.])", re.IGNORECASE)


def plain_address(text: str) -> str:
    """Return an address, or a part of one, with the labels of its domain in Unicode.

    Labels that are invalid in Unicode, and the part before the ``@``, stay unchanged.
    """
    local, at, domain = text.rpartition("@")
    return local + at + _ENCODED.sub(_decoded, f"{at}{domain}").removeprefix(at)


def _decoded(match: re.Match[str]) -> str:
    try:
        label = match[1].lower().encode("ascii").decode("punycode")
    except UnicodeError:
        return match[0]
    known = normalize("NFKC", label.casefold())
    return known if not known.isascii() and known.isprintable() and not set("@. ") & set(known) else match[0]


def ascii_domain(domain: str) -> str:
    """Return a domain as the name system has it, in lower case; any other text in lower case."""
    if domain.isascii():
        return domain.lower()
    import idna  # noqa: PLC0415 - its tables take memory, and few domains need them

    try:
        return idna.encode(domain, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        return domain.lower()
