"""Cookie mode: which cookies are read, which are set, and what proves that a request was meant."""

from dataclasses import replace
from http.cookies import SimpleCookie

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.audit.seals import RevisionSeals
from service.authn.csrf import Csrf
from service.authn.token_issuer import TokenPair
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.settings import Auth
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.requests.credentials import CookieToken
from service.web.requests.middleware import RequestMiddleware
from tests.support.cases import with_each
from tests.support.demands import undemanding
from tests.web.driver import JSON, Answer, ask
from tests.web.test_guard import CALLERS, ENDPOINTS, OPENINGS, over

ON = Auth(jwt_secret="hinges-2-portals-7-winches-4-chains-9", is_read_cookie=True)
ACCESS = "__Host-portcullis_access"
HOST = ("Host", "admin.example")
OURS = ("Sec-Fetch-Site", "same-origin")
PAIR = TokenPair("a.b.c", "d.e.f", 1_700_000_000_123, 7200, 604_800, 7, "ann", "web")


def app_of(settings: Auth) -> RequestMiddleware:
    shipped = read_shipped()
    live = LivePolicy(shipped, RevisionSeals())
    live.offer(Policy(shipped.model_text, undemanding([*OPENINGS, *ENDPOINTS, DELETES]), {}, 1))
    return over(live, CookieToken("Authorization", "Bearer ", Cookies(settings)), published=1, announced=1)


DELETES = Rule("endpoint", "DELETE /api/thing/{id}", "thing:delete")
APP = app_of(ON)


async def get(*headers: tuple[str, str], app: RequestMiddleware = APP) -> Answer:
    return await ask(app, "GET", "/api/echo", HOST, *headers)


async def delete(*headers: tuple[str, str]) -> Answer:
    return await ask(APP, "DELETE", "/api/thing/7", HOST, *headers)


def cookie(*pairs: str) -> tuple[str, str]:
    return "Cookie", "; ".join(pairs)


def proof(user: str = "all", issued: int = 0, settings: Auth = ON) -> tuple[str, str]:
    return "X-CSRF-Token", Csrf(settings).issue(CALLERS[user].login_id, issued)


async def test_the_access_cookie_carries_the_token() -> None:
    assert (await get(cookie(f"{ACCESS}=all"))).status == 200
    assert (await get(cookie("theme=dark", f"{ACCESS}=all", "x=1"))).status == 200
    assert (await get(("Cookie", f"theme=dark;{ACCESS}=all"))).status == 200
    assert (await get(cookie("theme=dark"), cookie(f"{ACCESS}=all"), cookie("x=1"))).status == 200


async def test_without_the_cookie_the_header_carries_it() -> None:
    assert (await get(("Authorization", "Bearer all"))).status == 200
    assert (await get(("Authorization", "Bearer all"), cookie("theme=dark"))).status == 200
    assert (await get(cookie("theme=dark"))).code == "unauthenticated"


@with_each("header", ["Bearer all", "Bearer lister", "bearer  all", "Bearer ", "Bearer a b"])
async def test_a_token_in_both_is_a_bad_request(header: str) -> None:
    answer = await get(cookie(f"{ACCESS}=all"), ("Authorization", header))
    assert (answer.status, answer.code) == (400, "bad_request")


async def test_credentials_of_another_scheme_are_no_token() -> None:
    assert (await get(cookie(f"{ACCESS}=all"), ("Authorization", "Basic YTpi"))).status == 200


@pytest.mark.parametrize("second", ["all", "lister", ""])
async def test_two_access_cookies_are_a_bad_request(second: str) -> None:
    first = f"{ACCESS}=all"
    for headers in (
        [cookie(first, f"{ACCESS}={second}")],
        [cookie(f"{ACCESS}={second}", "x=1", first)],
        [cookie(first), cookie(f"{ACCESS}={second}")],
    ):
        answer = await get(*headers)
        assert (answer.status, answer.code) == (400, "bad_request")


@with_each("value", ["", '"all"', '"all', "%61ll", "a\\154l", "all,all", "all=", "\xe9", "a b"])
async def test_a_value_is_taken_as_sent_or_not_at_all(value: str) -> None:
    answer = await get(cookie(f"{ACCESS}={value}"))
    assert (answer.status, answer.code) == (401, "token_invalid")


@with_each(
    "name",
    [
        "portcullis_access",
        "__host-portcullis_access",
        "__Host-Portcullis_Access",
        "__Secure-portcullis_access",
        "\xa0__Host-portcullis_access",
        "\x0b__Host-portcullis_access",
        "__Host-portcullis_access ",
        "$Version=1,__Host-portcullis_access",
        "x=__Host-portcullis_access",
    ],
)
async def test_no_other_name_is_the_access_cookies(name: str) -> None:
    assert (await get(cookie(f"{name}=all"))).code == "unauthenticated"


async def test_a_quoted_value_hides_no_cookie() -> None:
    assert (await get(cookie('x="a', f"{ACCESS}=all", 'b"'))).status == 200
    assert (await get(cookie(f'{ACCESS}="a', "x=1", 'all"'))).code == "token_invalid"


async def test_with_the_mode_off_no_cookie_is_read() -> None:
    app = app_of(replace(ON, is_read_cookie=False))
    assert (await get(cookie(f"{ACCESS}=all"), app=app)).code == "unauthenticated"
    assert (await get(cookie(f"{ACCESS}=all"), ("Authorization", "Bearer all"), app=app)).status == 200


async def test_without_tls_only_the_plain_name_counts() -> None:
    app = app_of(replace(ON, cookie_secure=False))
    assert (await get(cookie("portcullis_access=all"), app=app)).status == 200
    assert (await get(cookie(f"{ACCESS}=all"), app=app)).code == "unauthenticated"


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"").decode("latin-1")))
async def test_no_cookie_header_is_a_fault(value: str) -> None:
    for text in (value, f"{ACCESS}={value}", f"{value}; {ACCESS}=all"):
        assert (await get(("Cookie", text))).status < 500


async def test_a_change_by_cookie_needs_its_source_and_the_csrf_token() -> None:
    assert (await delete(cookie(f"{ACCESS}=all"), OURS, proof())).status == 200
    assert (await delete(cookie(f"{ACCESS}=all"), ("Origin", "https://admin.example"), proof())).status == 200


@with_each(
    "headers",
    [
        [],
        [OURS],
        [OURS, ("X-CSRF-Token", "")],
        [OURS, ("X-CSRF-Token", "x")],
        [OURS, proof("lister")],
        [OURS, proof(issued=1)],
        [OURS, proof(settings=replace(ON, jwt_secret=ON.jwt_secret[::-1]))],
        [OURS, proof(), proof()],
        [("Sec-Fetch-Site", "cross-site"), proof()],
        [("Sec-Fetch-Site", "same-site"), proof()],
        [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://admin.example"), proof()],
        [("Origin", "https://evil.example"), proof()],
        [("Origin", "null"), proof()],
    ],
)
async def test_a_change_by_cookie_without_proof_is_refused(headers: list[tuple[str, str]]) -> None:
    answer = await delete(cookie(f"{ACCESS}=all"), *headers)
    assert (answer.status, answer.code) == (403, "csrf_failed")


async def test_the_csrf_cookie_alone_proves_nothing() -> None:
    _, token = proof()
    answer = await delete(cookie(f"{ACCESS}=all", f"__Host-portcullis_csrf={token}"), OURS)
    assert answer.code == "csrf_failed"


async def test_a_change_by_header_needs_no_proof() -> None:
    assert (await delete(("Authorization", "Bearer all"), ("Sec-Fetch-Site", "cross-site"))).status == 200


async def test_what_changes_nothing_needs_no_proof() -> None:
    assert (await get(cookie(f"{ACCESS}=all"), ("Sec-Fetch-Site", "cross-site"))).status == 200


async def test_proof_is_asked_for_before_a_right() -> None:
    body = b'{"userName":"alice"}'
    answer = await ask(APP, "POST", "/api/thing", HOST, JSON, cookie(f"{ACCESS}=nobody"), body=body)
    assert answer.code == "csrf_failed"


async def test_a_token_that_is_wrong_is_called_so_without_proof() -> None:
    assert (await delete(cookie(f"{ACCESS}=unknown"))).code == "token_invalid"


def set_cookies(settings: Auth, *, clear: bool = False) -> dict[str, str]:
    """Return the Set-Cookie lines for ``PAIR``, or those that clear it, by name."""
    context = RequestContext({"path": "/api/auth/login", "headers": []})
    if clear:
        Cookies(settings).clear(context)
    else:
        Cookies(settings).set(context, PAIR)
    lines = [value.decode() for name, value in context.headers if name == b"set-cookie"]
    assert len(lines) == len(context.headers)
    return {line.partition("=")[0]: line.partition("=")[2] for line in lines}


async def test_the_cookies_live_as_long_as_what_they_carry() -> None:
    lines = set_cookies(ON)
    tail = "; Path=/; Secure; SameSite=Strict"
    assert lines.pop("__Host-portcullis_access") == f"a.b.c; Max-Age=7200{tail}; HttpOnly"
    assert lines.pop("__Host-portcullis_refresh") == f"d.e.f; Max-Age=604800{tail}; HttpOnly"
    ((name, line),) = lines.items()
    assert name == "__Host-portcullis_csrf"
    value, _, attributes = line.partition("; ")
    assert attributes == f"Max-Age=604800{tail}"
    Csrf(ON).check(value, "7", PAIR.issued)


async def test_clearing_names_the_same_cookies() -> None:
    lines = set_cookies(ON, clear=True)
    assert lines.keys() == set_cookies(ON).keys()
    assert set(lines.values()) == {"; Max-Age=0; Path=/; Secure; SameSite=Strict; HttpOnly"}


async def test_what_is_set_is_what_the_settings_say() -> None:
    lines = set_cookies(replace(ON, cookie_secure=False, cookie_same_site="Lax"))
    assert lines.keys() == {"portcullis_access", "portcullis_refresh", "portcullis_csrf"}
    assert all("; SameSite=Lax" in line and "Secure" not in line for line in lines.values())


async def test_with_the_mode_off_no_cookie_is_set() -> None:
    off = replace(ON, is_read_cookie=False)
    assert set_cookies(off) == set_cookies(off, clear=True) == {}


async def test_the_lines_are_what_others_read() -> None:
    for name, line in set_cookies(ON).items():
        read: SimpleCookie = SimpleCookie(f"{name}={line}")
        assert (read[name]["path"], read[name]["secure"], read[name]["samesite"]) == ("/", True, "Strict")
