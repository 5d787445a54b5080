"""A service that does not ask the store about each request: what that costs, and what it does not."""

from __future__ import annotations

from tests.sessions.site import Site, code_of, credentials, log_in, renew


def test_an_access_token_works_on_whatever_happens_to_its_session(unchecked_site: Site) -> None:
    site = unchecked_site
    with site.client() as client:
        user, admin = site.user(), log_in(client, site.user("super"))
        session = log_in(client, user)
        ways_to_end_it = [
            ("POST", "/api/auth/logout", session),
            ("DELETE", f"/api/online/{user.id}", admin),
            ("POST", f"/api/online/{user.id}/ban", admin),
        ]
        for method, path, whose in ways_to_end_it:
            client.request(method, path, headers=whose.header)
            assert client.get("/api/user/info", headers=session.header).status_code == 200


def test_refresh_and_login_are_checked_all_the_same(unchecked_site: Site) -> None:
    site = unchecked_site
    with site.client() as client:
        user, admin = site.user(), log_in(client, site.user("super"))
        session = log_in(client, user)
        client.post("/api/auth/logout", headers=session.header)
        answer = renew(client, session)
        assert (code_of(answer), answer.json()["reason"]) == ((401, "refresh_rejected"), "ended")

        session = log_in(client, user)
        client.post(f"/api/online/{user.id}/ban", headers=admin.header, json={})
        assert code_of(renew(client, session)) == (403, "account_banned")
        assert code_of(client.post("/api/auth/login", json=credentials(user))) == (403, "account_banned")


def test_a_token_that_is_wrong_is_refused_all_the_same(unchecked_site: Site) -> None:
    with unchecked_site.client() as client:
        session = log_in(client, unchecked_site.user())
        refresh = {"Authorization": f"Bearer {session.refresh}"}
        assert code_of(client.get("/api/user/info", headers=refresh)) == (401, "token_invalid")
        assert code_of(client.get("/api/online/list", headers=session.header)) == (403, "permission_denied")
