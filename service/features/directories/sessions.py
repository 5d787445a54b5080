"""The device sessions that were opened by signing in with a provider."""

from collections.abc import Iterable

from service.authn.login_log import LoginLog
from service.features.directories.schema import SignedIn
from service.keyspace import SessionStore


async def end_sessions_of(store: SessionStore, log: LoginLog, sign_ins: Iterable[SignedIn]) -> int:
    """End the device sessions that were opened by these sign-ins with a provider; return how many.

    A session has the name of its sign-in: one by a password on the same device stays. It must be stored that
    the sign-ins have ended: one that opens a session later is refused by that, see ``SessionOpening``.
    """
    ended = 0
    for each in sign_ins:
        if each.sign_in and await store.close_session(str(each.user_id), each.device, sign_in=each.sign_in):
            log.by_other("kick", each.user_id, None, each.device)
            ended += 1
    return ended
