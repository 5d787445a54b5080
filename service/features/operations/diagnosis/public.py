"""Asks the service through its public address, with headers that no proxy may let pass."""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from service.kernel.hosts import is_local
from service.kernel.strict_json import strict_json
from service.kernel.text import printable
from service.operator.findings import Finding, Findings, fault, ok, unknown, warning

_WITHIN: Final = 5.0  # seconds
_NOBODY: Final = "192.0.2.1"  # RFC 5737
_FORGED: Final = "forged.invalid"
_HEADERS: Final = {
    "X-Forwarded-For": _NOBODY,
    "Forwarded": f"for={_NOBODY}",
    "X-Real-IP": _NOBODY,
    "X-Forwarded-Host": _FORGED,
    "X-Original-URL": f"/{_FORGED}",
    "X-Portcullis-User": _FORGED,
}
_REDIRECTS: Final = (301, 302, 307, 308)
_UNTOLD: Final = "this check needs the token in server.metrics_token"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    document: Any


def ask_publicly(url: str, token: str) -> Findings:
    """Send a request to ``url`` (a scheme and a host); return how it arrives, and its faults.

    ``token`` is the metrics token; it is sent only by https or to this machine, and may be empty.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        return [("public-url", fault(f"{printable(url)} is not an https:// or http:// URL", "correct --url"))]
    safe = parts.scheme == "https" or is_local(host)
    try:
        answer = _get(parts.scheme, host, port, token if safe else "")
    except ssl.SSLCertVerificationError as error:
        return [("public-url", fault(f"certificate error: {error.verify_message}", "renew or replace it"))]
    except (OSError, http.client.HTTPException) as error:
        return [("public-url", fault(f"no response: {type(error).__name__}", "check the proxy and its log"))]
    if not isinstance(answer.document, dict) or not {"data", "parts"} & answer.document.keys():
        return [
            (
                "public-url",
                fault(f"{answer.status}, but the response is not from this service", "check the proxy"),
            )
        ]
    findings = [("public-url", ok(f"answers {answer.status}"))]
    findings.append(("public-tls", _tls(parts.scheme, host, answer)))
    request = answer.document.get("data", answer.document).get("details", {}).get("request")
    if request is None:
        return [*findings, ("public-address", unknown(_UNTOLD)), ("public-headers", unknown(_UNTOLD))]
    return [
        *findings,
        ("public-address", _address(request)),
        ("public-headers", _headers(request, parts.scheme)),
    ]


def _get(scheme: str, host: str, port: int | None, token: str) -> _Answer:
    connection: http.client.HTTPConnection
    if scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=_WITHIN, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_WITHIN)
    authorization = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", "/health/ready", headers=_HEADERS | authorization)
        answer = connection.getresponse()
        body = answer.read(1_000_000)
    finally:
        connection.close()
    try:
        document = strict_json(body)
    except ValueError:
        document = None
    return _Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, document)


def _tls(scheme: str, host: str, answer: _Answer) -> Finding:
    if scheme == "http":
        return warning("the check used plain HTTP", "use the https:// address")
    if "max-age" not in answer.headers.get("strict-transport-security", ""):
        return warning(
            "the response has no Strict-Transport-Security: attackers could redirect browsers to plain HTTP",
            "configure the proxy to add it, as in deploy/caddy and deploy/nginx",
        )
    try:
        plain = _get("http", host, None, "")
    except (OSError, http.client.HTTPException):
        return ok("TLS with HSTS; plain HTTP gets no response")
    if plain.status in _REDIRECTS:
        return ok("TLS with HSTS; plain HTTP is redirected")
    return warning(
        f"plain HTTP gets a response, {plain.status}", "configure the proxy to redirect it to https://"
    )


def _address(request: Mapping[str, Any]) -> Finding:
    address, peer = str(request.get("address")), str(request.get("peer"))
    if address == _NOBODY:
        return fault(
            f"clients can choose their address with X-Forwarded-For ({_NOBODY})",
            "configure the proxy to replace the header, and list only proxies in server.trusted_proxies",
        )
    forwarded = request.get("headers", {}).get("x-forwarded-for")
    if address == peer and forwarded is not None:
        if forwarded.rpartition(",")[2].strip() == peer:
            return unknown("this machine is the proxy: run the check on another machine")
        return fault(
            f"all clients have the address of the proxy, {printable(peer)}",
            "add the proxy to server.trusted_proxies",
        )
    return ok(f"this machine is {printable(address)}, but the request came from {printable(peer)}")


def _headers(request: Mapping[str, Any], scheme: str) -> Finding:
    arrived: Mapping[str, str] = request.get("headers", {})
    forged = sorted(
        name
        for name, value in arrived.items()
        if name != "x-forwarded-for" and (_NOBODY in value or _FORGED in value)
    )
    if forged:
        return fault(
            f"the proxy forwards headers of clients: {', '.join(forged)}",
            "configure the proxy to remove or replace them, as in deploy/caddy and deploy/nginx",
        )
    if scheme == "https" and arrived.get("x-forwarded-proto") not in (None, "https"):
        return warning("X-Forwarded-Proto is not https", "configure the proxy to set it")
    return ok(f"forged headers do not arrive; the proxy sends {', '.join(sorted(arrived)) or 'no header'}")
