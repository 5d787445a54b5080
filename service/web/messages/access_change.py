"""Access that users gain or lose by a change: in dry runs, and in comparisons of two policies."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.web.messages.schema import Schema


class AccessChange(Schema):
    """The gained and lost access of the users of a role; `roleCode` is null for access by any login."""

    role_code: Annotated[str, Meta(examples=["auditor"])] | None
    users: Annotated[
        int,
        Meta(ge=0, examples=[3]),
        Meta(
            description="The numbers of enabled users without a ban who gain or lose each of `access`. Users "
            "with the same access by another role are not counted."
        ),
    ]
    access: Annotated[list[str], Meta(examples=[["GET /api/user/list"]])]
    total: (
        Annotated[
            int,
            Meta(ge=0, examples=[812], description="The number of all members, if `access` has only a part."),
        ]
        | UnsetType
    ) = UNSET
