"""Access that users gain or lose by a change: in dry runs, and in comparisons of two policies."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.web.messages.schema import Schema


class AccessChange(Schema):
    """What the users of a role gain or lose; `roleCode` is null for what any login opens."""

    role_code: Annotated[str, Meta(examples=["auditor"])] | None
    users: Annotated[
        int,
        Meta(ge=0, examples=[3]),
        Meta(
            description="How many users, neither disabled nor banned, gain or lose each of `access`. Who "
            "keeps it by another role, or had it by one already, is not counted."
        ),
    ]
    access: Annotated[list[str], Meta(examples=[["GET /api/user/list"]])]
    total: (
        Annotated[
            int, Meta(ge=0, examples=[812], description="How many there are, where `access` has a part.")
        ]
        | UnsetType
    ) = UNSET
