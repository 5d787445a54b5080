"""How often one may try, over HTTP, behind a proxy and past it."""

import httpx

from tests.sessions.site import PROXY, Site, User, at_once, code_of, credentials, log_in, renew

ACCOUNT_LIMIT = 40  # as the fixture ``site`` sets it
WRONG = "not the password"
HOME = {"X-Forwarded-For": "203.0.113.7", "User-Agent": "her browser"}


def hammer(site: Site, user: User) -> list[httpx.Response]:
    """Guess at an account from many addresses until no more guesses are let through."""

    def guess(_: httpx.Client, number: int) -> list[httpx.Response]:
        with site.client(PROXY) as client:
            return [
                client.post(
                    "/api/auth/login",
                    json=credentials(user, password=WRONG),
                    headers={"X-Forwarded-For": f"198.51.100.{number * 8 + time}"},
                )
                for time in range(7)
            ]

    return [answer for answers in at_once(site, 8, guess) for answer in answers]


def attempt(client: httpx.Client, user: User, headers: dict[str, str]) -> httpx.Response:
    return client.post("/api/auth/login", json=credentials(user), headers=headers)


def test_while_an_account_is_hammered_its_user_gets_in_from_her_own_device_and_nobody_else_does(
    site: Site,
) -> None:
    user = site.user()
    with site.client(PROXY) as proxied, site.client() as direct:
        assert attempt(proxied, user, HOME).status_code == 200
        answers = hammer(site, user)

        assert sum(answer.status_code == 401 for answer in answers) == ACCOUNT_LIMIT
        refused = [answer for answer in answers if answer.status_code != 401]
        assert {code_of(answer) for answer in refused} == {(429, "rate_limited")}
        assert all(1 <= int(answer.headers["retry-after"]) <= 300 for answer in refused)

        assert attempt(proxied, user, HOME).status_code == 200
        # The right password will not do from elsewhere, nor from an address that only the client claims.
        elsewhere = HOME | {"X-Forwarded-For": "203.0.113.8"}
        claimed = HOME | {"X-Forwarded-For": "203.0.113.7, 203.0.113.9"}
        for answer in (
            attempt(proxied, user, elsewhere),
            attempt(proxied, user, claimed),
            attempt(proxied, user, HOME | {"User-Agent": "another browser"}),
            attempt(direct, user, HOME),
        ):
            assert code_of(answer) == (429, "rate_limited")
        assert attempt(direct, site.user(), HOME).status_code == 200


def test_a_locked_account_is_told_to_the_log_once_without_name_or_password(site: Site) -> None:
    user = site.user()
    answers = hammer(site, user)
    ids = {answer.headers["x-request-id"] for answer in answers}
    events = [line for line in site.service.log if line.get("request_id") in ids and "event_type" in line]
    (locked,) = (line for line in events if line["event"] == "an account is locked out")
    attempts = [line for line in events if line["event"] == "too many attempts"]

    assert (locked["event_type"], locked["login_id"]) == ("security", str(user.id))
    assert len(attempts) == sum(answer.status_code == 429 for answer in answers)
    assert {(line["event_type"], line["limit"]) for line in attempts} == {("security", "login")}
    assert all(line["address"].startswith("198.51.100.") for line in attempts)
    assert WRONG not in site.service.output
    assert user.name not in site.service.output


def test_a_spent_token_is_not_refreshed_without_end_and_blocks_no_other_session(
    site: Site, client: httpx.Client
) -> None:
    user = site.user()
    session, other = log_in(client, user), log_in(client, user, "ios")
    answers = [renew(client, session) for _ in range(123)]

    assert [answer.status_code for answer in answers] == [200] + [401] * 120 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert renew(client, other).status_code == 200
