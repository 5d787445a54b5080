"""Where held codes come from: the roles and the Buttons that give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from service.authz.review.explain import LayerExplained
from service.authz.review.subjects import Subject
from service.records import role_holdings
from service.records.database.transactions import Connection
from service.records.role_holdings import CodeOrigin

Origins = Mapping[str, Sequence[CodeOrigin]]
"""The roles and Buttons that give a held code, by the code."""


async def origins_of(
    connection: Connection | None, asking: Subject, layers: Iterable[LayerExplained]
) -> Origins:
    """Return the origins of all codes that fired in ``layers``.

    Those of the user or the role, else all that are stored; without a connection none are known.
    """
    codes = {fired.code for layer in layers for fired in layer.fired}
    origins: dict[str, list[CodeOrigin]] = defaultdict(list)
    if connection is None or not codes:
        return origins
    for origin in await role_holdings.origins(connection, codes, user_id=asking.user_id):
        if asking.role_code in (None, origin.role_code):
            origins[origin.code].append(origin)
    return origins
