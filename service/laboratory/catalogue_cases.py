"""The cases that every permission code must have, made from the catalogue of codes.

Each code is asked about in each layer, with each kind of held code, as in an installation whose resources
``portcullis policy sync`` has registered. So an exception that a matcher makes for one code, in one layer and
for one kind of held code, fails a case. The expectations come from the catalogue alone, never from the lines
or from the enforcer, which they would always agree with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from service.authz.engine.rules import ENDPOINT, GRANT, PERMISSION, RESOURCE, Rule
from service.kernel.permission_catalogue import Page, codes_by_endpoint, permissions
from service.kernel.strict_yaml import Document
from service.laboratory.tables import Asks, Case, TableFile

CATALOGUE_TABLE: Final = Path("catalogue")
"""What stands for a file where a case of this table is named."""

_NOBODY: Final = "newcomer"
_FIELD: Final = re.compile(r"\{\w+\}")


def catalogue_cases(pages: Iterable[Page]) -> Document[TableFile]:
    """Return the decision table of all codes of ``pages`` and of the endpoints that they open."""
    pages = tuple(pages)
    codes = sorted(permissions(pages))
    opened = {endpoint: sorted(each) for endpoint, each in codes_by_endpoint(pages).items()}
    holders = {
        "exact": codes,
        "everything": ["*"],
        "subtree": sorted({f"{code.partition(':')[0]}:*" for code in codes}),
        "pattern": sorted({":".join([code.partition(":")[0], *["*"] * code.count(":")]) for code in codes}),
    }
    cases = [*_requests(opened, [*holders]), *_codes(codes, [*holders])]
    table = TableFile(
        {_NOBODY: [], **holders},
        cases,
        registered={name: [*each] for name, each in opened.items()},
        codes=[*codes],
    )
    return Document(CATALOGUE_TABLE, table, {}, "")


def _requests(opened: dict[str, list[str]], holders: list[str]) -> Iterator[Case]:
    """Yield who may send a request to each endpoint: both layers are asked."""
    for endpoint, codes in opened.items():
        request = _FIELD.sub("7", endpoint)
        line, through = (str(Rule(layer, endpoint, codes[0])) for layer in (ENDPOINT, RESOURCE))
        yield Case(holders, request, "allow", ENDPOINT, line=line, through=through)
        yield Case(_NOBODY, request, "deny", RESOURCE, required=codes)


def _codes(codes: list[str], holders: list[str]) -> Iterator[Case]:
    """Yield who may hand out each code, and who may do what it stands for."""
    for code in codes:
        for layer in (GRANT, PERMISSION):
            asks = Asks(layer, code)
            yield Case(holders, asks, "allow", layer, line=str(Rule(layer, code, code)))
            yield Case(_NOBODY, asks, "deny", layer, required=[code])
