"""Types of fields that the bodies of the API share with state files.

They are apart from the endpoints because commands need them alone: importing the endpoints takes
longer than what the commands do.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.kernel.names import MAX_NAME_LENGTH, text_fault
from service.kernel.value_rules import (
    COMPONENT,
    DESCRIPTION,
    MENU_PATH,
    RESOURCE_CODE,
    SHORT_LINE,
    SORT,
    one_line,
)
from service.web.messages.schema import RULE, text_by, whole

Text = Annotated[str, text_by(SHORT_LINE)]
Title = Annotated[Text, Meta(examples=["Users"])]
MenuPath = Annotated[str, text_by(MENU_PATH), Meta(examples=["/system/user"])]
Component = Annotated[str, text_by(COMPONENT)]
Sort = Annotated[int, Meta(ge=SORT.least, le=SORT.most, description="Smaller values come first.")]
Name = Annotated[str, text_by(SHORT_LINE), Meta(examples=["Read a report"])]
Code = Annotated[
    str,
    text_by(RESOURCE_CODE),
    Meta(examples=["report.detail"], description="The name by which programs know it; unique."),
]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
RoleName = Annotated[
    str,
    text_by(one_line(MAX_NAME_LENGTH)),
    Meta(examples=["Auditor"], extra={RULE: text_fault}),
    Meta(description="Unique, whatever the case and the form of its letters."),
]
RoleCode = Annotated[
    str,
    Meta(max_length=64, pattern=whole("[a-z0-9_-]+"), examples=["auditor"]),
    Meta(description="The name by which programs and tokens know the role; unique, and never changed."),
]
Description = Annotated[str, text_by(DESCRIPTION)]
OpenTo = Annotated[
    Literal["@login", "@anyone"],
    Meta(description="`@login`: everybody who is logged in. `@anyone`: everybody."),
]
