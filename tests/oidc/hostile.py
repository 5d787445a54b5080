"""A provider of OpenID Connect that does what it is told, lies included: a small server on this machine."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

CLIENT: Final = "portcullis"
SECRET: Final = "a secret of this client"
EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def new_key(kid: str) -> RSAKey:
    return RSAKey.import_key(rsa.generate_private_key(65537, 2048), {"kid": kid})


def signed(claims: dict[str, Any], key: Any, *, alg: str = "RS256", **header: Any) -> str:
    """Return a JWT with that ``alg``; for ``none`` without a signature."""
    head = {"alg": alg, "typ": "JWT"} | header
    text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
    if alg == "none":
        return f"{text}."
    if alg == "HS256":
        return f"{text}.{encoded(hmac.digest(key, text.encode(), 'sha256'))}"
    return f"{text}.{encoded(JWSRegistry.algorithms[alg].sign(text.encode(), key))}"


class HostileProvider:
    """A provider; ``changes`` are claims of the next tokens, ``answers`` what replaces a whole document."""

    def __init__(self) -> None:
        self.key = new_key("first")
        self.keys = [self.key]
        self.changes: dict[str, Any] = {}
        self.header: dict[str, Any] = {"kid": "first"}
        self.algorithm = "RS256"
        self.sign_with: Any = None
        self.metadata: dict[str, Any] = {}
        self.answers: dict[str, bytes] = {}
        self.delay = 0.0
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.subject = "alice-at-provider"
        self.url = ""

    def reset(self) -> None:
        """Be honest again, with other subjects than before."""
        url, key = self.url, self.key
        self.__init__()  # type: ignore[misc]  # all members are plain
        self.url, self.key, self.keys = url, key, [key]
        self.subject = secrets.token_hex(8)

    def authorized(self, url: str, **changes: Any) -> dict[str, str]:
        """Play the browser at ``url``: return the parameters with which it is sent back."""
        query = dict(parse_qsl(urlsplit(url).query))
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.url} | changes
        return {name: value for name, value in back.items() if value is not None}

    def claims(self, nonce: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": self.subject,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "auth_time": now,
            "sid": f"sid-{self.subject}",
            "preferred_username": f"u-{self.subject}",
            "name": "Alice of the provider",
        } | self.changes
        return {name: value for name, value in claims.items() if value is not None}

    def id_token(self, nonce: str) -> str:
        return signed(self.claims(nonce), self.sign_with or self.key, alg=self.algorithm, **self.header)

    def logout_token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_hex(8),
            "sub": self.subject,
            "sid": f"sid-{self.subject}",
            "events": {EVENT: {}},
        } | changes
        claims = {name: value for name, value in claims.items() if value is not None}
        return signed(claims, self.sign_with or self.key, alg=self.algorithm, **self.header)

    def public_pem(self) -> bytes:
        """Return the public key as the secret of an HMAC, which everybody could make."""
        return bytes(self.key.as_pem(private=False))

    def document(self, path: str) -> dict[str, Any]:
        if path.endswith("openid-configuration"):
            return {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "end_session_endpoint": f"{self.url}/logout",
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                "authorization_response_iss_parameter_supported": True,
            } | self.metadata
        return {"keys": [key.as_dict(private=False) for key in self.keys]}

    def token(self, form: dict[str, list[str]], authorization: str) -> tuple[int, dict[str, Any]]:
        """Exchange a code: once, by this client, with the verifier of its challenge."""
        pair = f"{CLIENT}:{quote(SECRET)}"
        expected = f"Basic {base64.b64encode(pair.encode()).decode()}"
        query = self.codes.pop(form["code"][0], None)
        challenge = encoded(sha256(form["code_verifier"][0].encode()).digest())
        good = authorization == expected and query is not None and query["code_challenge"] == challenge
        if query is None or not good or query["redirect_uri"] != form["redirect_uri"][0]:
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": self.id_token(query["nonce"]), "token_type": "Bearer", "access_token": "x"}


def _handler(provider: HostileProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
            """Print nothing."""

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            provider.asked.append(path)
            time.sleep(provider.delay)
            self._send(200, provider.answers.get(path) or json.dumps(provider.document(path)).encode())

        def do_POST(self) -> None:
            provider.asked.append(urlsplit(self.path).path)
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            status, answer = provider.token(form, self.headers.get("authorization", ""))
            self._send(status, json.dumps(answer).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

    return Handler


@contextmanager
def hostile_provider() -> Iterator[HostileProvider]:
    """Run a provider on a free port of this machine."""
    provider = HostileProvider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
