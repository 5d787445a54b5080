"""Tokens of a restore epoch that a restore has ended."""

from collections.abc import Callable

import pytest

from service.authn.claims import AccessClaims, ClientClaims
from service.authn.tokens import Tokens
from service.authn.verified import VerifiedTokens
from service.errors import RefreshRejected, RefreshRequired, TokenInvalid, Unavailable
from service.kernel.permission_map import PermissionMap
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.settings import Auth
from tests.authn.keys import verify_access
from tests.authn.test_tokens import issue_access, now, payload_of

NO_MAP = PermissionMap({})


@pytest.fixture
def restore_epoch() -> CurrentRestoreEpoch:
    return CurrentRestoreEpoch("before")


@pytest.fixture
def tokens(auth: Auth, restore_epoch: CurrentRestoreEpoch) -> Tokens:
    return Tokens(auth, restore_epoch=restore_epoch)


def refresh_token(tokens: Tokens) -> str:
    return tokens.issue_refresh(login_id="7", rid="r" * 22, issued=now(), ends=now() + 10**6)


def client_token(tokens: Tokens) -> str:
    return tokens.issue_client(login_id="7", key_id=3, scope="a:b", lasts=60, ends=None)[0]


def test_tokens_name_the_timeline_of_their_database(tokens: Tokens) -> None:
    for token in (issue_access(tokens)[0], refresh_token(tokens), client_token(tokens)):
        assert payload_of(token)["tl"] == "before"


def test_tokens_of_the_first_timeline_name_none_and_are_those_of_versions_before(auth: Auth) -> None:
    token = issue_access(Tokens(auth))[0]
    assert "tl" not in payload_of(token)
    assert verify_access(Tokens(auth), token)


def test_a_remembered_access_token_is_refused_once_the_timeline_has_ended(
    tokens: Tokens, restore_epoch: CurrentRestoreEpoch
) -> None:
    cache, token = VerifiedTokens(tokens), issue_access(tokens)[0]
    assert cache.lookup(token, NO_MAP).caller
    restore_epoch.name = "after"
    for _ in range(2):
        with pytest.raises(RefreshRequired):
            cache.lookup(token, NO_MAP)
    assert cache.lookup(issue_access(tokens)[0], NO_MAP).caller


@pytest.mark.parametrize("before", ["", "before"])
def test_tokens_of_an_ended_timeline_are_refused_without_any_cache(auth: Auth, before: str) -> None:
    old, new = (
        Tokens(auth, restore_epoch=CurrentRestoreEpoch(before)),
        Tokens(auth, restore_epoch=CurrentRestoreEpoch("after")),
    )
    with pytest.raises(RefreshRequired):
        new.verify(issue_access(old)[0], AccessClaims, ClientClaims)
    with pytest.raises(TokenInvalid):
        new.verify(client_token(old), AccessClaims, ClientClaims)
    with pytest.raises(RefreshRejected) as refused:
        new.verify_refresh(refresh_token(old))
    assert refused.value.extra["reason"] == "ended"


@pytest.mark.parametrize("issue", [lambda tokens: issue_access(tokens)[0], refresh_token, client_token])
def test_nothing_is_issued_before_the_timeline_is_known(auth: Auth, issue: Callable[[Tokens], str]) -> None:
    with pytest.raises(Unavailable):
        issue(Tokens(auth, restore_epoch=CurrentRestoreEpoch()))


def test_nothing_is_accepted_before_the_timeline_is_known(auth: Auth) -> None:
    with pytest.raises(Unavailable):
        verify_access(Tokens(auth, restore_epoch=CurrentRestoreEpoch()), issue_access(Tokens(auth))[0])
