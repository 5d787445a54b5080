"""Tokens, sessions and markers while clocks are set and wrong, against what a user may expect of them."""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from service.authn.authenticate import Authenticator
from service.authn.claims import AccessClaims
from service.authn.password_rules import InitialPasswords
from service.authn.token_issuer import Account, TokenIssuer
from service.authn.tokens import Tokens
from service.errors import Refusal
from service.kernel.assurance import Authentication
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionFacts, SessionStore
from service.records.database.transactions import Database
from service.settings import Auth, Password, Redis
from tests.authn.conftest import SECRET
from tests.authn.keys import verify_access
from tests.support.shifted import Clocks

MAP = PermissionMap({"*": 0})
ANN = Account(
    user_id=1,
    user_name="ann",
    nick_name="Ann",
    roles=(),
    permissions=("*",),
    permission_map=MAP,
    changes_at=None,
)
DEVICES = ("web", "ios")
JUMPS = [900, 3600]
LONG = 1_000_000
"""Seconds that tokens live here: they end by what is done to them, and not by time."""


@dataclass
class Issued:
    """A token, and whether nothing has ended it."""

    token: str
    device: str
    live: bool = True


class Ann:
    """A user with two devices, whose tokens one worker after the other checks."""

    def __init__(self, redis_url: str, clocks: Clocks) -> None:
        self.redis_url = redis_url
        self.clocks = clocks
        self.settings = Auth(jwt_secret=SECRET, access_timeout=LONG, refresh_timeout=LONG)
        self.issued: list[Issued] = []
        self.rids: dict[str, str] = {}
        self.banned = False
        self._numbers = iter(range(10_000))
        self._start()

    def _start(self) -> None:
        self.store = SessionStore(Redis(url=self.redis_url), self.settings)
        self.tokens = Tokens(self.settings, self.store.synchronized.now)
        nowhere = Database("postgresql://nobody@127.0.0.1:1/none")
        self._pairs = TokenIssuer(nowhere, self.tokens, lambda: MAP, InitialPasswords(Password()))
        self._authenticator = Authenticator(self.settings, self.tokens, self.store, None)  # type: ignore[arg-type]  # no keys

    async def restart(self) -> None:
        """Let a new worker take over."""
        await self.store.close()
        self._start()

    async def log_in(self, device: str) -> Issued | None:
        """Open a session, which replaces the one on the device; None for a user who is banned."""
        rid = f"rid-{next(self._numbers)}".ljust(24, "-")
        seen = await self.store.marker_of("1")
        facts = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")
        opening = await self.store.open_session("1", device, rid, facts, seen=seen)
        assert opening.outcome == ("banned" if self.banned else "opened")
        if self.banned:
            return None
        self._end(device)
        return await self._issue(device, rid, opening.sid, opening.issued, opening.ends)

    async def refresh(self, device: str) -> Issued | None:
        """Rotate the refresh id; None where there is no session."""
        rid, following = self.rids.get(device, "none"), f"rid-{next(self._numbers)}".ljust(24, "-")
        seen = await self.store.marker_of("1")
        rotation = await self.store.rotate_session(
            "1", rid, following, user_name="ann", nick_name="Ann", seen=seen
        )
        if device not in self.rids:
            assert rotation.outcome in ("unknown", "banned")
            return None
        assert rotation.outcome == "rotated"
        assert rotation.lease is not None
        await self.store.deliveries.confirm(rotation.lease)
        return await self._issue(device, following, rotation.sid, rotation.issued, rotation.ends)

    async def _issue(self, device: str, rid: str, sid: str, issued: int, ends: int) -> Issued:
        pair = await self._pairs.issue(
            ANN, device, rid, sid=sid, authentication=Authentication(auth_time=1.0), issued=issued, ends=ends
        )
        self.rids[device] = rid
        self.issued.append(Issued(pair.access_token, device))
        return self.issued[-1]

    def _end(self, *devices: str) -> None:
        """Note that all tokens of these devices have ended."""
        for session in self.issued:
            session.live &= session.device not in devices

    async def mark(self) -> None:
        """Change the rights of the user."""
        await self.store.mark(["1"])
        self._end(*DEVICES)

    async def log_out(self, device: str) -> None:
        """End one session; tokens of the others must be refreshed."""
        assert await self.store.close_session("1", device) == (device in self.rids)
        if self.rids.pop(device, None):
            self._end(*DEVICES)

    async def kick(self) -> None:
        """End all sessions."""
        assert await self.store.close_sessions("1") == len(self.rids)
        self.rids.clear()
        self._end(*DEVICES)

    async def ban(self) -> None:
        """Ban the user without end."""
        await self.store.ban("1", None, "")
        self.banned = True
        self.rids.clear()
        self._end(*DEVICES)

    async def unban(self) -> None:
        """End the ban, if there is one."""
        assert await self.store.unban("1") == self.banned
        self.banned = False

    async def passes(self, token: str) -> bool:
        """Tell whether a request with the token is let through."""
        try:
            await self._authenticator.authenticate(token, MAP)
        except Refusal:
            return False
        return True

    def claims_of(self, issued: Issued) -> AccessClaims:
        """Return what a token says, if it is good."""
        return verify_access(self.tokens, issued.token)


@pytest.fixture
async def ann(clocks: Clocks, redis_url: str) -> AsyncIterator[Ann]:
    user = Ann(redis_url, clocks)
    yield user
    await user.store.close()


USUAL, ALL = 10, 200


@pytest.mark.parametrize(
    "seed", [*range(USUAL), *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(USUAL, ALL))]
)
async def test_whatever_clocks_do_no_ended_token_passes_and_once_they_are_right_each_new_one_does(
    ann: Ann, seed: int
) -> None:
    chance = random.Random(seed)
    steps = []
    for _ in range(40):
        acts = {
            "log in": lambda: ann.log_in(chance.choice(DEVICES)),
            "refresh": lambda: ann.refresh(chance.choice(DEVICES)),
            "mark": ann.mark,
            "log out": lambda: ann.log_out(chance.choice(DEVICES)),
            "kick": ann.kick,
            "ban": ann.ban,
            "unban": ann.unban,
            "restart": ann.restart,
        }
        weights = (6, 6, 3, 2, 1, 1, 2, 1)
        if chance.random() < 0.3:
            off = (0, 0, 900, 3600, -900, 30, -30, 2)
            ann.clocks.set(store=chance.choice(off), machine=chance.choice((0, 0, 0, *off)))
            steps.append("clocks are set")
        elif chance.random() < 0.2:
            ann.clocks.wait(chance.choice((1, 12, 888, 900, 3600)))
            steps.append("time passes")
        else:
            (name,) = chance.choices(list(acts), weights)
            await acts[name]()
            steps.append(name)
        for session in ann.issued:
            assert session.live or not await ann.passes(session.token), (seed, steps)
        if chance.random() < 0.2:
            await all_is_well(ann)
    await all_is_well(ann)


async def all_is_well(ann: Ann) -> None:
    """Set the clocks right: nobody is shut out, and what has ended has ended for ever."""
    ann.clocks.set()
    await ann.store.clock()
    for device in DEVICES:
        for renew in (ann.refresh, ann.log_in):
            if issued := await renew(device):
                assert await ann.passes(issued.token)
                assert abs(ann.claims_of(issued).iat - ann.clocks.now()) < 1.5
    for session in ann.issued:
        assert session.live or not await ann.passes(session.token)


@pytest.mark.parametrize("ahead", JUMPS)
@pytest.mark.parametrize("restarted", [False, True])
async def test_twelve_seconds_ahead_shut_nobody_out(ann: Ann, ahead: int, restarted: bool) -> None:
    before = await ann.log_in("ios")
    ann.clocks.set(store=ahead)
    meanwhile = await ann.log_in("web")
    assert meanwhile is not None
    assert await ann.passes(meanwhile.token)
    await ann.mark()
    ann.clocks.wait(12)
    ann.clocks.set()
    if restarted:
        await ann.restart()
    await ann.store.clock()

    for renew, device in ((ann.refresh, "ios"), (ann.refresh, "web"), (ann.log_in, "web")):
        issued = await renew(device)
        assert issued is not None
        assert await ann.passes(issued.token)
    for ended in (before, meanwhile):
        assert ended is not None
        assert not await ann.passes(ended.token)


@pytest.mark.parametrize("ahead", JUMPS)
async def test_a_token_from_the_future_that_was_revoked_does_not_come_to_life_when_its_time_comes(
    ann: Ann, ahead: int
) -> None:
    ann.clocks.set(store=ahead)
    first = await ann.log_in("web")
    assert first is not None
    ann.clocks.wait(12)
    ann.clocks.set()
    await ann.mark()
    for _ in range(4):
        assert await ann.refresh("web")
        ann.clocks.wait(ahead // 3)
        await ann.store.clock()
        assert not await ann.passes(first.token)


@pytest.mark.parametrize("ahead", JUMPS)
async def test_a_token_from_the_future_that_nobody_has_ended_is_refreshed_or_works_in_its_time(
    ann: Ann, ahead: int
) -> None:
    ann.clocks.set(store=ahead)
    first = await ann.log_in("web")
    assert first is not None
    ann.clocks.wait(12)
    ann.clocks.set()
    await ann.store.clock()
    assert not await ann.passes(first.token)
    ann.clocks.wait(ahead)
    await ann.store.clock()

    assert await ann.passes(first.token)


async def test_a_marker_that_is_set_to_now_stops_each_token_from_before_it(ann: Ann) -> None:
    """Also one from less than a second ahead, whose session keeps its name."""
    ann.clocks.set(store=900)
    first = await ann.log_in("web")
    assert first is not None
    ann.clocks.wait(2)
    await ann.mark()
    ann.clocks.set()
    ann.clocks.wait(897)
    assert await ann.log_in("ios")
    ann.clocks.wait(2)
    await ann.store.clock()

    assert not await ann.passes(first.token)


async def test_a_worker_that_has_not_heard_of_a_jump_takes_a_token_from_after_it(ann: Ann) -> None:
    await ann.store.clock()
    other = Ann(ann.redis_url, ann.clocks)
    ann.clocks.set(store=900)
    issued = await other.log_in("web")
    await other.store.close()

    assert issued is not None
    assert await ann.passes(issued.token)
