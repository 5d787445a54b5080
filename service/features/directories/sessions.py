"""Device sessions opened by a sign-in with a provider."""

from collections.abc import Iterable

from service.authn.login_log import LoginLog
from service.features.directories.schema import SignedIn
from service.keyspace import SessionStore


async def end_sessions_of(store: SessionStore, log: LoginLog, sign_ins: Iterable[SignedIn]) -> int:
    """End the device sessions that these sign-ins opened; return their number.

    A session carries the name of its sign-in, so password sessions on the same device remain. The end of the
    sign-ins must already be stored: ``SessionOpening`` then rejects sessions that are opened later.
    """
    ended = 0
    for each in sign_ins:
        if each.sign_in and await store.close_session(str(each.user_id), each.device, sign_in=each.sign_in):
            log.by_other("kick", each.user_id, None, each.device)
            ended += 1
    return ended
