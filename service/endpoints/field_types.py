"""Types of fields that the bodies of the API share with state files.

They are apart from the endpoints because commands need them alone: importing the endpoints takes
longer than what the commands do.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.web.messages.schema import ONE_LINE, whole

Text = Annotated[str, Meta(max_length=128, pattern=ONE_LINE)]
Title = Annotated[Text, Meta(examples=["Users"])]
# User interfaces navigate to it: another scheme or host would lead elsewhere unnoticed.
_VISIBLE = r"[^\s\\\x00-\x1f\x7f]"
MenuPath = Annotated[
    str,
    Meta(max_length=256, examples=["/system/user"]),
    Meta(pattern=whole(rf"https?://{_VISIBLE}+|/(?!/){_VISIBLE}*|[A-Za-z0-9._-](?:(?!:){_VISIBLE})*")),
]
Sort = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, description="Smaller values come first.")]
Name = Annotated[str, Meta(max_length=128, pattern=ONE_LINE, examples=["Read a report"])]
Code = Annotated[
    str,
    Meta(max_length=64, pattern=whole("[A-Za-z0-9][A-Za-z0-9._:-]*")),
    Meta(examples=["report.detail"], description="The name by which programs know it; unique."),
]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
RoleName = Annotated[
    str,
    Meta(max_length=64, pattern=ONE_LINE, examples=["Auditor"]),
    Meta(description="Unique, whatever the case and the form of its letters."),
]
RoleCode = Annotated[
    str,
    Meta(max_length=64, pattern=whole("[a-z0-9_-]+"), examples=["auditor"]),
    Meta(description="The name by which programs and tokens know the role; unique, and never changed."),
]
Description = Annotated[str, Meta(max_length=1000)]
OpenTo = Annotated[
    Literal["@login", "@anyone"],
    Meta(description="`@login`: everybody who is logged in. `@anyone`: everybody."),
]
