"""Codes and parameters of the causes of revisions, read from their texts."""

from types import SimpleNamespace
from typing import Any, cast

from service.features.policy_history.causes import cause_of
from tests.support.cases import with_each

CASES = [
    # The cause, the user of the revision, and the code, the act and the user that are read.
    ("an extension acted by ann", "ann", ("cause_by", "an extension acted", "ann")),
    ("an extension acted by ann by bob", "bob", ("cause_by", "an extension acted by ann", "bob")),
    ("an extension acted by ann", None, ("other", None, None)),
    ("an extension acted", "ann", ("other", None, None)),
]


@with_each(("cause", "user", "read"), CASES)
def test_a_cause_names_its_user_and_its_act_whoever_has_worded_it(
    cause: str, user: str | None, read: tuple[str, str | None, str | None]
) -> None:
    sentence = cause_of(cast(Any, SimpleNamespace(cause=cause, user_name=user)))
    params = sentence.params
    act = params.get("act")
    assert (sentence.code, None if act is None else act["message"], params.get("user")) == read
    assert str(sentence) == cause
