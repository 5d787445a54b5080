"""A refused row of a table names the permissions that are lacking, and says when it does not name all."""

from __future__ import annotations

import pytest

from service.authz.engine.policy import Policy
from service.errors import PermissionDenied, RowFault, RowsRefused
from service.kernel.codes import HeldCodes
from tests.policies.stock import MODEL


@pytest.mark.parametrize(("number", "count"), [(RowsRefused.MOST, None), (RowsRefused.MOST + 1, 101)])
def test_how_many_permissions_are_lacking_is_told_when_not_all_are_named(
    number: int, count: int | None
) -> None:
    codes = [f"x:{suffix}" for suffix in range(number)]
    decision = Policy(MODEL.read_text("utf-8")).judge("grant", "x:0", HeldCodes([]))
    denial = PermissionDenied("The role gives permissions that you do not hold", decision, required=codes)

    (error,) = RowsRefused([RowFault(1, "roles", denial.detail, denial.code, denial)]).extra["errors"]

    assert error["required"] == codes[: RowsRefused.MOST]
    assert error.get("requiredCount") == count
