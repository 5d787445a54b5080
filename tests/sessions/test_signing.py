"""Services that sign by each family of algorithms, and keys with which none starts."""

from http.cookiejar import DefaultCookiePolicy
from pathlib import Path

from tests.authn.keys import KIND_OF, key, next_key, public_pem
from tests.service.test_refused_starts import refusal
from tests.sessions.conftest import Mortal, signing
from tests.sessions.site import Site, code_of, log_in, part_of, renew, session_of, works


def check_signs(site: Site, algorithm: str) -> None:
    with site.client() as client:
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session = log_in(client, site.user())
        header = part_of(session.access, 0)
        assert part_of(session.refresh, 0) == header
        published = [
            signing_key["kid"] for signing_key in client.get("/.well-known/jwks.json").json()["keys"]
        ]
        kid = header["kid"]
        assert published == ([] if algorithm.startswith("HS") else [kid])
        assert header == {"alg": algorithm, "typ": "JWT", "kid": kid}
        assert works(client, session)
        assert works(client, session_of(renew(client, session)))
        head, body, signature = session.access.split(".")
        for changed in (f"{head}.{body}.{signature[1:]}{signature[0]}", f"{head}.{body}.", session.refresh):
            answer = client.get("/api/user/info", headers={"Authorization": f"Bearer {changed}"})
            assert code_of(answer) == (401, "token_invalid")


def test_a_service_signs_by_hmac(site: Site) -> None:
    check_signs(site, "HS256")


def test_a_service_signs_by_eddsa(unchecked_site: Site) -> None:
    check_signs(unchecked_site, "EdDSA")


def test_a_service_signs_by_rsa(mortal: Mortal) -> None:
    check_signs(mortal.site, "RS256")


def test_a_service_signs_by_ecdsa(cookie_site: Site) -> None:
    check_signs(cookie_site, "ES256")


def test_a_public_key_of_another_private_key_refuses_the_start(tmp_path: Path) -> None:
    variables = signing(tmp_path, "ES256")
    Path(variables["PORTCULLIS_AUTH__JWT_PUBLIC_KEY"]).write_bytes(public_pem(next_key(KIND_OF["ES256"])))

    assert "auth.jwt_public_key: does not match auth.jwt_private_key" in refusal(tmp_path, **variables)
    assert not (tmp_path / "data").exists()


def test_a_public_key_in_place_of_the_secret_refuses_the_start(tmp_path: Path) -> None:
    (tmp_path / "portcullis.toml").write_text(
        f"[auth]\njwt_secret = '''{public_pem(key('P-256')).decode()}'''\n"
    )

    assert "auth.jwt_secret" in refusal(tmp_path)
