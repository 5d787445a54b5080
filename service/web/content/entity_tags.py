"""Conditional requests by the entity tag of an answer (RFC 9110 §13)."""

import re
from typing import Final

from service.web.messages.context import RequestContext

_TAG: Final = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


def is_known(context: RequestContext, tag: str) -> bool:
    """True if ``If-None-Match`` says that the client already has the file with the entity tag ``tag``.

    Weak tags match strong ones here (§13.1.2).
    """
    given = context.request.raw_header(b"if-none-match")
    if given is None:
        return False
    return given.strip() == b"*" or tag.encode() in _TAG.findall(given)
