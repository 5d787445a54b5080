"""What it would change if a role gave other permission codes."""

from __future__ import annotations

from collections.abc import Collection

from service.authz.review.impact import Differences, Standing, differences
from service.errors import ValidationFailed
from service.kernel.codes import is_code


def what_if(
    standing: Standing, role_code: str, without: Collection[str] = (), with_: Collection[str] = ()
) -> Differences:
    """Return who gains and loses what; ValidationFailed for an unknown role or code."""
    given = standing.codes.get(role_code)
    if given is None:
        raise ValidationFailed(("roleCode", "There is no such role"))
    faults = [("without", f"The role does not give {code}") for code in without if code not in given]
    faults += [("with", f"{code[:20]!r} is no permission code") for code in with_ if not is_code(code)]
    if not without and not with_:
        faults.append(("without", "Name a code that the role would no longer give, or one that it would"))
    if faults:
        raise ValidationFailed(*faults)
    codes = tuple(sorted({*given, *with_} - set(without)))
    after = Standing(standing.policy, {**standing.codes, role_code: codes}, standing.users)
    return differences(standing, after)
