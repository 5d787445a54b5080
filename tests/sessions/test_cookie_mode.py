"""Cookie mode over HTTP, as a browser and those who would abuse it see it."""

from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy

import httpx
import pytest

from tests.sessions.site import Session, Site, User, code_of, credentials, session_of

ACCESS, REFRESH, CSRF = (f"__Host-portcullis_{what}" for what in ("access", "refresh", "csrf"))
OURS = {"Sec-Fetch-Site": "same-origin"}
INFO = "/api/user/info"


@dataclass
class Browser:
    """Keeps cookies as browsers do, over what the test takes for TLS."""

    client: httpx.Client
    cookies: dict[str, str]

    def send(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request from a page of the service; ``headers`` replace what it would send."""
        sent = {**OURS, "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if CSRF in self.cookies:
            sent["X-CSRF-Token"] = self.cookies[CSRF]
        answer = self.client.request(method, path, headers=sent | (headers or {}), json=json)
        for line in answer.headers.get_list("set-cookie"):
            name, _, rest = line.partition("=")
            value, _, attributes = rest.partition("; ")
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def log_in(self, user: User, device: str = "web") -> Session:
        return session_of(self.send("POST", "/api/auth/login", json=credentials(user, device)))


@pytest.fixture
def client(cookie_site: Site) -> Iterator[httpx.Client]:
    with cookie_site.client() as client:
        # Cookies are kept by hand: for plain HTTP no client sends one that is Secure.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        yield client


@pytest.fixture
def browser(cookie_site: Site, client: httpx.Client) -> Browser:
    """A browser whose user is logged in."""
    browser = Browser(client, {})
    browser.log_in(cookie_site.user())
    return browser


def test_a_browser_logs_in_reads_changes_refreshes_and_logs_out(
    cookie_site: Site, client: httpx.Client
) -> None:
    browser = Browser(client, {})
    session = browser.log_in(cookie_site.user())
    assert (browser.cookies[ACCESS], browser.cookies[REFRESH]) == (session.access, session.refresh)
    assert browser.send("GET", INFO).status_code == 200

    first = dict(browser.cookies)
    refreshed = session_of(browser.send("POST", "/api/auth/refresh"))
    assert (browser.cookies[ACCESS], browser.cookies[REFRESH]) == (refreshed.access, refreshed.refresh)
    assert all(browser.cookies[name] != value for name, value in first.items())
    assert browser.send("GET", INFO).status_code == 200

    assert browser.send("POST", "/api/auth/logout").json() == {"data": None}
    assert browser.cookies == {}
    assert code_of(browser.send("GET", INFO)) == (401, "unauthenticated")


@pytest.mark.parametrize(("method", "path"), [("POST", "logout/all"), ("DELETE", "sessions/web")])
def test_ending_ones_own_session_clears_the_cookies(browser: Browser, method: str, path: str) -> None:
    assert browser.send(method, f"/api/auth/{path}").status_code == 200
    assert browser.cookies == {}


def test_a_refused_login_sets_no_cookie(cookie_site: Site, client: httpx.Client) -> None:
    user = cookie_site.user()
    for answer in (
        client.post("/api/auth/login", json=credentials(user, password="not the password")),
        client.post("/api/auth/login", json=credentials(user) | {"device": "*"}),
        client.post("/api/auth/refresh", json={"refreshToken": "a.b.c"}),
    ):
        assert answer.status_code in (401, 422)
        assert "set-cookie" not in answer.headers


FORGERIES = ({**OURS, "X-CSRF-Token": ""}, {"Sec-Fetch-Site": "cross-site"})


def test_a_forged_change_is_refused_and_changes_nothing(browser: Browser) -> None:
    for method, path in (
        ("POST", "/api/auth/logout"),
        ("POST", "/api/auth/logout/all"),
        ("DELETE", "/api/auth/sessions/web"),
        ("POST", "/api/auth/refresh"),
    ):
        for forgery in FORGERIES:
            answer = browser.send(method, path, headers=forgery)
            assert code_of(answer) == (403, "csrf_failed"), path
            assert "set-cookie" not in answer.headers
    assert browser.send("GET", INFO).status_code == 200
    assert browser.send("POST", "/api/auth/refresh").status_code == 200


def test_a_login_that_another_site_caused_is_refused(cookie_site: Site, client: httpx.Client) -> None:
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        answer = client.post("/api/auth/login", json=credentials(cookie_site.user()), headers=headers)
        assert code_of(answer) == (403, "csrf_failed")


def test_a_refresh_token_in_cookie_and_body_is_refused(browser: Browser) -> None:
    body = {"refreshToken": browser.cookies[REFRESH]}
    assert code_of(browser.send("POST", "/api/auth/refresh", json=body)) == (400, "bad_request")
    assert browser.send("POST", "/api/auth/refresh").status_code == 200


def test_without_cookies_header_and_body_carry_the_tokens(cookie_site: Site, client: httpx.Client) -> None:
    session = Browser(client, {}).log_in(cookie_site.user())
    assert client.get(INFO, headers=session.header).status_code == 200
    session = session_of(client.post("/api/auth/refresh", json={"refreshToken": session.refresh}))
    assert client.post("/api/auth/logout", headers=session.header).status_code == 200
    for answer in (client.post("/api/auth/refresh"), client.post("/api/auth/refresh", json={})):
        assert code_of(answer) == (401, "unauthenticated")


def test_a_browser_whose_access_cookie_has_expired_is_unauthenticated_and_refreshes(browser: Browser) -> None:
    del browser.cookies[ACCESS]
    assert code_of(browser.send("GET", INFO)) == (401, "unauthenticated")
    assert browser.send("POST", "/api/auth/refresh").status_code == 200
    assert browser.send("GET", INFO).status_code == 200


def test_a_spent_refresh_cookie_is_superseded_and_leaves_the_winners_cookies(browser: Browser) -> None:
    slower = Browser(browser.client, dict(browser.cookies))
    assert browser.send("POST", "/api/auth/refresh").status_code == 200
    answer = slower.send("POST", "/api/auth/refresh")

    assert (code_of(answer), answer.json()["reason"]) == ((401, "refresh_rejected"), "superseded")
    assert "set-cookie" not in answer.headers
    assert browser.send("GET", INFO).status_code == 200


def test_with_the_mode_off_no_cookie_is_set_or_read(site: Site) -> None:
    with site.client() as client:
        answer = client.post("/api/auth/login", json=credentials(site.user()))
        session = session_of(answer)
        assert "set-cookie" not in answer.headers
        cookies = {"Cookie": f"{ACCESS}={session.access}; {REFRESH}={session.refresh}"}
        assert code_of(client.get(INFO, headers=cookies)) == (401, "unauthenticated")
        assert client.get(INFO, headers=cookies | session.header).status_code == 200
        refused = client.post("/api/auth/refresh", json={}, headers=cookies)
        assert code_of(refused) == (422, "validation_failed")
        assert "set-cookie" not in client.post("/api/auth/logout", headers=session.header).headers
