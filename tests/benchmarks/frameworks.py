"""The same guarded GET in this service and in other frameworks, in one run.

Each has one worker on one core and is asked over as many connections: for a small JSON object, with a token
in the header. The token is verified, and looked up as revoked where that peer has such a thing. Rounds go
through all, and each ratio is that of neighbouring rounds. The peers are in ``tests/benchmarks/peers``, and
their packages in an environment of their own (``.tools/peers``).
"""

import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop
from joserfc import jwt
from joserfc.jwk import OctKey

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.apps import TEMPLATE
from tests.benchmarks.frame.machine import ROOT
from tests.benchmarks.frame.results import Note, Pace, Result
from tests.benchmarks.idle_extension import READ
from tests.benchmarks.installation import IDLE, environment, install, log_in
from tests.benchmarks.load import answer_length, request_bytes
from tests.benchmarks.servers import (
    PORT,
    UVICORN,
    Server,
    ServerError,
    interleaved,
    measured,
    pin_to_last_core,
    running,
    serving,
    serving_worker,
)
from tests.support.databases import database

PYTHON = ROOT / ".tools" / "peers" / "bin" / "python"
FOLDER = "tests.benchmarks.peers"
CHART = "A guarded GET, one worker on one core"
CODES = [f"area{number}:thing{number}:list" for number in range(39)] + ["system:role:list"]
_FILL = 60
"""Seconds that a peer has to fill its database."""


@dataclass(frozen=True)
class Peer:
    """A peer: its name, the words that run it, whether it forks its worker, and what fills its database."""

    name: str
    words: tuple[str, ...]
    forks: bool = False
    fills: str = ""


PEERS = (
    Peer("FastAPI, a set of codes", (*UVICORN, f"{FOLDER}.fastapi_set:app")),
    Peer("FastAPI, Casbin, 500 lines", (*UVICORN, f"{FOLDER}.fastapi_casbin:app")),
    Peer(
        "Django REST framework",
        (
            *("gunicorn", "--workers", "1", "--worker-class", "gthread", "--threads", "4"),
            *("--keep-alive", "60"),
            *("--no-control-socket", "--bind", f"127.0.0.1:{PORT}", f"{FOLDER}.django_rest:application"),
        ),
        forks=True,
        fills=f"{FOLDER}.django_rest",
    ),
)


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield requests a second and processor time of each; a peer that does not start is left out."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pc-")))
        stores = stack.enter_context(EmbeddedStores(place / "data", durable=False))
        of_peers = stack.enter_context(database(stores, name="peers"))
        pin_to_last_core()
        environ = environment(stores, place) | IDLE
        install(environ)
        own = stack.enter_context(serving_worker(environ))
        bare = stack.enter_context(serving("tests.benchmarks.apps:bare", environ))
        token = log_in(own)
        asked = {
            "this service": (own, request_bytes(READ, own.port, Authorization=f"Bearer {token}")),
            "bare Falcon, unguarded": (bare, _request(bare, token)),
        }
        secret = secrets.token_hex(32)
        variables = {"PEER_SECRET": secret, "DATABASE_URL": of_peers, "REDIS_URL": stores.redis_url}
        for peer in PEERS:
            try:
                server = stack.enter_context(_started(peer, variables))
                request = _request(server, _token(secret))
                uvloop.run(answer_length(server.port, request))
            except (ServerError, RuntimeError, EOFError, OSError) as error:
                yield Note(f"{peer.name} is left out: {error}")
                continue
            asked[peer.name] = (server, request)
        rounds = dict(zip(asked, interleaved(list(asked.values()), pace), strict=True))
    reference = measured("this service", rounds.pop("this service"), chart=CHART)
    yield from reference
    for name, series in rounds.items():
        yield from measured(name, series, against=reference, chart=CHART)


def _started(peer: Peer, variables: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Return what runs ``peer``; raises ServerError if its packages or its tables can't be had."""
    if not PYTHON.exists():
        raise ServerError("its packages are not installed; `python3 dev.py bench` says why")
    if peer.fills:
        words = [str(PYTHON), "-P", "-m", peer.fills]
        environ = {**os.environ, **variables}
        try:
            subprocess.run(words, env=environ, capture_output=True, text=True, check=True, timeout=_FILL)
        except subprocess.SubprocessError as error:
            raise ServerError(f"its database can't be filled: {error}") from error
    return running(peer.words, variables, python=str(PYTHON), forks=peer.forks)


def _request(server: Server, token: str) -> bytes:
    return request_bytes(TEMPLATE, server.port, Authorization=f"Bearer {token}")


def _token(secret: str) -> str:
    """Return an access token for all peers, with the forty codes of its user."""
    now = int(time.time())
    claims = {
        "sub": "0",
        "name": "user0",
        "permissions": CODES,
        "iat": now,
        "exp": now + 3600,
        "jti": secrets.token_hex(16),
        "token_type": "access",  # this and the next for simplejwt
        "user_id": "1",
    }
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))
