"""A provider of OpenID Connect that does what it is told, lies included: a small server on this machine."""

import base64
import gzip
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

CLIENT: Final = "portcullis"
SECRET: Final = "a secret of this client"
EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def new_key(kid: str) -> RSAKey:
    return RSAKey.import_key(rsa.generate_private_key(65537, 2048), {"kid": kid})


def signed(claims: dict[str, Any], key: Any, alg: str, header: dict[str, Any]) -> str:
    """Return a JWT that is signed by ``alg``, whatever its header says; for ``none`` without a signature."""
    head = {"alg": alg, "typ": "JWT"} | header
    text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
    if alg == "none":
        return f"{text}."
    if alg == "HS256":
        return f"{text}.{encoded(hmac.digest(key, text.encode(), 'sha256'))}"
    return f"{text}.{encoded(JWSRegistry.algorithms[alg].sign(text.encode(), key))}"


class HostileProvider:
    """A provider; ``changes`` are claims of the next tokens, ``answers`` what replaces a whole document."""

    def __init__(self, key: RSAKey | None = None) -> None:
        self.key = key or new_key("first")
        self.keys: list[Any] = [self.key]
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
        self.userinfo: dict[str, Any] | None = None
        self.userinfo_type = "application/json"
        self.client_key: Any = None
        self.token_answer: bytes | None = None
        self.redirect = ""
        self.lenient = False  # takes any verifier, and a code again
        self.dripping: set[str] = set()
        self.dripped = False  # to the end
        self.woken = False
        self.encoding = ""
        self.assertions: set[str] = set()
        self.url = ""

    def reset(self) -> None:
        """Be honest again, with other subjects than before."""
        url = self.url
        self.__init__(self.key)  # type: ignore[misc]  # all members are plain; a new key takes long
        self.url = url
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
        return signed(self.claims(nonce), self.sign_with or self.key, self.algorithm, self.header)

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
        return signed(claims, self.sign_with or self.key, self.algorithm, self.header)

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
                **({} if self.userinfo is None else {"userinfo_endpoint": f"{self.url}/userinfo"}),
            } | self.metadata
        return {"keys": [key.as_dict(private=False) for key in self.keys]}

    def token(self, form: dict[str, list[str]], authorization: str) -> tuple[int, dict[str, Any]]:
        """Exchange a code: once, by this client, with the verifier of its challenge."""
        if not self._is_client(form, authorization):
            return 401, {"error": "invalid_client"}
        query = self.codes.get(form["code"][0])
        if not self.lenient:
            self.codes.pop(form["code"][0], None)
        challenge = encoded(sha256(form["code_verifier"][0].encode()).digest())
        good = self.lenient or (query is not None and query["code_challenge"] == challenge)
        if query is None or not good or query["redirect_uri"] != form["redirect_uri"][0]:
            return 400, {"error": "invalid_grant"}
        access = f"access-{self.subject}"
        return 200, {
            "id_token": self.id_token(query["nonce"]),
            "token_type": "Bearer",
            "access_token": access,
        }

    def _is_client(self, form: dict[str, list[str]], authorization: str) -> bool:
        """Judge who asks: by the signed assertion if there is a key (RFC 7523 §3), else by the secret."""
        if self.client_key is not None:
            return not authorization and self._is_assertion(form)
        if self.metadata.get("token_endpoint_auth_methods_supported") == ["client_secret_post"]:
            sent = form.get("client_id"), form.get("client_secret")
            return not authorization and sent == ([CLIENT], [SECRET])
        pair = f"{CLIENT}:{quote(SECRET)}"
        return authorization == f"Basic {base64.b64encode(pair.encode()).decode()}"

    def _is_assertion(self, form: dict[str, list[str]]) -> bool:
        if form.get("client_assertion_type") != ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]:
            return False
        try:
            algorithm = "ES256" if isinstance(self.client_key, ECKey) else "RS256"
            token = jwt.decode(form["client_assertion"][0], self.client_key, algorithms=[algorithm])
        except (JoseError, ValueError, KeyError):
            return False
        claims, now = token.claims, time.time()
        fresh = claims["jti"] not in self.assertions
        self.assertions.add(claims["jti"])
        own = (claims["iss"], claims["sub"], claims["aud"]) == (CLIENT, CLIENT, f"{self.url}/token")
        return fresh and own and now < claims["exp"] <= now + 300 and abs(claims["iat"] - now) < 60

    def knows(self, authorization: str) -> tuple[int, dict[str, Any]]:
        """Tell what is known of who has signed in, to who has the access token."""
        if self.userinfo is None or authorization != f"Bearer access-{self.subject}":
            return 401, {"error": "invalid_token"}
        return 200, {"sub": self.subject} | self.userinfo


class _Handler(BaseHTTPRequestHandler):
    provider: HostileProvider

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
        """Print nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.provider.asked.append(path)
        self._sleep()
        if path == "/authorize":  # a browser, whose person is signed in there
            self.send_response(303)
            back = parse_qs(urlsplit(self.path).query)["redirect_uri"][0]
            self.send_header("Location", f"{back}?{urlencode(self.provider.authorized(self.path))}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path in self.provider.dripping:
            self._drip()
            return
        if path == "/userinfo":
            status, known = self.provider.knows(self.headers.get("authorization", ""))
            self._send(status, json.dumps(known).encode(), self.provider.userinfo_type)
            return
        self._send(200, self.provider.answers.get(path) or json.dumps(self.provider.document(path)).encode())

    def do_POST(self) -> None:
        self.provider.asked.append(urlsplit(self.path).path)
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        self._sleep()
        status, answer = self.provider.token(form, self.headers.get("authorization", ""))
        self._send(status, self.provider.token_answer or json.dumps(answer).encode())

    def _sleep(self) -> None:
        if self.provider.delay:
            time.sleep(self.provider.delay)
            self.provider.woken = True

    def _drip(self) -> None:
        """Send a byte now and then, without an end."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            for _ in range(600):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
            self.provider.dripped = True

    def _send(self, status: int, body: bytes, media_type: str = "application/json") -> None:
        self.send_response(307 if self.provider.redirect else status)
        if self.provider.redirect:
            self.send_header("Location", self.provider.redirect)
        self.send_header("Content-Type", media_type)
        if self.provider.encoding:
            self.send_header("Content-Encoding", self.provider.encoding)
            body = gzip.compress(body)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


@contextmanager
def hostile_provider() -> Iterator[HostileProvider]:
    """Run a provider on a free port of this machine."""
    provider = HostileProvider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"provider": provider}))
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
