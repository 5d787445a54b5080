"""A cached token is never worth more than the same token read anew, however it is sent."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from service.audit.seals import RevisionSeals
from service.authn.authenticate import Authenticator
from service.authn.tokens import Tokens
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.authz.publishing.shipped import read_shipped
from service.kernel.assurance import Authentication
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.keyspace import Answer as Checked
from service.keyspace import SessionStore
from service.keyspace.checks import KeyPair
from service.settings import Auth
from service.web.messages.cookies import Cookies
from service.web.requests.credentials import CookieToken, HeaderToken
from service.web.requests.guard import AuthorizationGuard
from tests.authn.conftest import SECRET
from tests.support.demands import undemanding
from tests.web.driver import Answer, ask
from tests.web.example_service import example
from tests.web.test_guard import ENDPOINTS, OPENINGS

START = 1_790_000_000.0


class Store(SessionStore):
    """Says what a test makes it say."""

    def __init__(self) -> None:
        """Connect to nothing."""
        self.marker: bytes | None = None
        self.session: bytes | None = b'{"login_time":%f}' % START
        self.revision = 1
        self.asked = 0
        self.checks = SimpleNamespace(ask=self._checked)  # type: ignore[assignment]  # nothing is asked
        self.deliveries = SimpleNamespace(seen=lambda *_token: None)  # type: ignore[assignment]  # nothing is stored

    def session_keys(self, login_id: str, device: str) -> KeyPair:
        return KeyPair(f"{login_id}:{device}".encode())

    def _checked(self, pair: KeyPair, span: Span | None = None) -> asyncio.Future[Checked]:  # noqa: ARG002 - as the store's
        self.asked += 1
        future: asyncio.Future[Checked] = asyncio.get_running_loop().create_future()
        future.set_result(Checked(self.marker, self.session, self.revision, b"all"))
        return future

    async def ban_of(self, _login_id: str) -> None:
        return None


@dataclass
class World:
    """A service whose clock, session store and policy are the test's; ``way`` is how tokens are sent."""

    way: str
    now: float = START + 600  # later: a new token is reported to the store as delivered
    store: Store = field(default_factory=Store)

    def __post_init__(self) -> None:
        name, prefix = ("X-Token", "") if self.way == "another name" else ("Authorization", "Bearer ")
        self.name, self.prefix = name, prefix
        self.auth = Auth(
            jwt_secret=SECRET,
            token_name=name,
            token_prefix=prefix,
            is_read_cookie=self.way in ("cookie", "header in cookie mode"),
            cookie_secure=False,
        )
        self.tokens = Tokens(self.auth, lambda: self.now)
        self.live = LivePolicy(read_shipped(), RevisionSeals())
        self.publish({"thing:list": 0})

        async def newest() -> int:
            return self.live.current.revision

        cookies = Cookies(self.auth, lambda: self.now)
        reader = CookieToken(name, prefix, cookies) if cookies.on else HeaderToken(name, prefix)
        authenticator = Authenticator(self.auth, self.tokens, self.store, None)  # type: ignore[arg-type]  # no keys here
        guard = AuthorizationGuard(
            reader, authenticator, self.live, PublishedRevisions(self.live, newest), lambda: self.now
        )
        self.app = example(guard)[0]

    def publish(self, bits: dict[str, int]) -> None:
        revision = self.live.current.revision + 1
        self.live.offer(
            Policy(read_shipped().model_text, undemanding([*OPENINGS, *ENDPOINTS]), bits, revision)
        )
        self.store.revision = revision

    def token(self, **changes: Any) -> str:
        """Return an access token of user 7, who may list things, as the service issues it."""
        given = {
            "login_id": "7",
            "device": "web",
            "sid": "",
            "user_name": "alice",
            "nick_name": "Alice",
            "roles": (),
            "permissions": ("thing:list",),
            "permission_map": PermissionMap({"thing:list": 0}),
            "authentication": Authentication(auth_time=START),
            "issued": round(START * 1000),
            "ends": round(START * 1000) + 3_600_000,
        }
        return self.tokens.issue_access(**{**given, **changes})[0]

    async def get(self, token: str) -> Answer:
        if self.way == "cookie":
            return await ask(self.app, "GET", "/api/thing", ("Cookie", f"a=b; portcullis_access={token}"))
        return await ask(self.app, "GET", "/api/thing", (self.name, self.prefix + token))

    async def warm(self) -> str:
        """Return a token that was accepted twice."""
        token = self.token()
        for _ in range(2):
            assert (await self.get(token)).status == 200
        return token


@pytest.fixture(params=["header", "cookie", "header in cookie mode", "another name"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


def _end_session(world: World) -> None:
    world.store.session = None


def _replace_session(world: World) -> None:
    world.store.session = b'{"login_time":%f}' % (START + 0.5)


def _mark(world: World) -> None:
    world.store.marker = b"refresh:%f" % (START + 0.5)


def _ban(world: World) -> None:
    world.store.marker = b"banned"


@pytest.mark.parametrize(
    ("revoke", "refusal"),
    [
        (_end_session, (401, "refresh_required")),
        (_replace_session, (401, "refresh_required")),
        (_mark, (401, "refresh_required")),
        (_ban, (403, "account_banned")),
    ],
)
async def test_a_revoked_token_is_refused_at_once(
    world: World, revoke: Callable[[World], None], refusal: tuple[int, str]
) -> None:
    token = await world.warm()
    asked = world.store.asked
    before = world.store.marker, world.store.session
    revoke(world)
    for _ in range(2):
        answer = await world.get(token)
        assert (answer.status, answer.code) == refusal
    assert world.store.asked == asked + 2  # each request asks

    world.store.marker, world.store.session = before
    assert (await world.get(token)).status == 200


async def test_an_expired_token_is_refused(world: World) -> None:
    token = await world.warm()
    world.now = START + 3601
    for _ in range(2):
        answer = await world.get(token)
        assert (answer.status, answer.code) == (401, "token_expired")


async def test_a_re_signed_token_is_refused(world: World) -> None:
    token = await world.warm()
    forger = Tokens(replace(world.auth, jwt_secret=SECRET[::-1]), lambda: world.now)
    head, claims, signature = token.split(".")
    forged = World(world.way)
    forged.tokens = forger
    for wrong in (
        forged.token(),
        ".".join((head, claims, signature[::-1])),
        ".".join((head, claims, forged.token().split(".")[2])),
    ):
        for _ in range(2):
            answer = await world.get(wrong)
            assert (answer.status, answer.code) == (401, "token_invalid")
    assert (await world.get(token)).status == 200


async def test_bits_that_mean_something_else_now_are_read_anew(world: World) -> None:
    token = await world.warm()
    world.publish({"thing:other": 0, "thing:list": 1})
    answer = await world.get(token)
    assert (answer.status, answer.code) == (403, "permission_denied")

    world.publish({"thing:list": 0})
    assert (await world.get(token)).status == 200


async def test_nothing_that_is_sent_otherwise_finds_a_cached_token(world: World) -> None:
    token = await world.warm()
    for name, value in (
        ("Authorization", f"Basic {token}"),
        ("Authorization", token if world.prefix else f"Bearer {token}"),
        ("X-Portcullis-Proxy", token),
        ("X-Other", f"{world.prefix}{token}"),
        (world.name, f"{world.prefix}{token}, {world.prefix}{token}"),
        ("Cookie", f"portcullis_refresh={token}"),
        ("Cookie", f"__Host-portcullis_access={token}"),
    ):
        answer = await ask(world.app, "GET", "/api/thing", (name, value))
        assert answer.status in (400, 401), (name, answer.status)


async def test_a_token_in_cookie_and_header_is_refused_cached_or_not() -> None:
    world = World("cookie")
    token = await world.warm()
    both = (("Cookie", f"portcullis_access={token}"), ("Authorization", f"Bearer {token}"))
    assert (await ask(world.app, "GET", "/api/thing", *both)).status == 400


def test_the_clock_of_these_tests_is_not_that_of_the_machine() -> None:
    assert abs(START - time.time()) > 86_400
