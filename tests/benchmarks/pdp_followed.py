"""A decision point that follows 100,000 resources and as many users, without a hub; and a process of it.

``python -m tests.benchmarks.pdp_followed FILE PLACE [LOG]`` serves what the file has kept; the place is a
port, or the path of a Unix socket.
"""

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import httpx
import msgspec
import uvloop

from service.features.decision_log.decision_log import DecisionLog, DecisionWriter, output_named
from service.features.follower import protocol
from service.features.follower.following import Follower
from service.features.follower.point import DecisionPoint
from service.features.follower.server import PdpApp, serve
from service.features.follower.settings import PdpSettings

AREAS = 97
ACTS = ("list", "edit", "drop")
ROLES = 500
SERVICE = ("orders",)
KEY = "pck_benchmark"
_MODEL = Path(__file__).resolve().parents[2] / "model.conf"


def path_of(number: int) -> str:
    """Return the path of the resource with that number; half of them have a parameter."""
    return f"/area{number % AREAS}/thing{number}" + ("/{id}" if number % 2 else "")


def everything(names: bytes, size: int, position: str = "benchmark") -> protocol.Changes:
    """Return what a hub with ``size`` resources and as many users sends first."""
    resources: dict[str, tuple[str, ...]] = {}
    demands: dict[str, tuple[str, ...]] = {}
    for number in range(size):
        name = f"orders GET {path_of(number)}"
        resources[name] = tuple(sorted(f"orders:area{number % AREAS}:{act}" for act in ACTS))
        demands[f"resource {name}"] = ("@anyone",)
    codes: dict[str, tuple[str, ...]] = {
        f"orders:area{area}:{act}": (f"orders:area{area}:{act}",) for area in range(AREAS) for act in ACTS
    }
    lines: dict[str, dict[str, tuple[str, ...]]] = {
        "resource": resources,
        "assurance": demands,
        "service": {"orders": ("@nobody",)},
        "permission": codes,
        "account": {"evaluate same-service": ("@login",), "forward same-service": ("@login",)},
    }
    given = [tuple(f"orders:area{(role + area) % AREAS}:list" for area in range(5)) for role in range(ROLES)]
    users = [
        protocol.UserRecord(
            number, True, False, None, 0.0, protocol.name_digest(f"user-{number}", names), None,
            (number % ROLES + 1, number * 7 % ROLES + 1), (),
        )
        for number in range(1, size + 1)
    ]  # fmt: skip
    return protocol.Changes(
        nonce="",
        time=1_700_000_000.0,
        position=position,
        revision=1,
        rights=10,
        snapshot="10:10:",
        digest=protocol.SetDigest(lines).text,
        tokens=protocol.TokenRules("ES256", "portcullis", "portcullis", 5, 7200, "", []),
        account=protocol.Account(1, "pdp", "orders", ("system:policy:follow",)),
        policy=protocol.PolicyPart(
            1, "a" * 64, _MODEL.read_text("utf-8"), lines, bits={code: bit for bit, code in enumerate(codes)}
        ),
        roles=[protocol.RoleRecord(number + 1, codes) for number, codes in enumerate(given)],
        users=users,
    )


def followed(size: int) -> DecisionPoint:
    """Return a decision point that knows all of it, with a lease for an hour."""
    point = DecisionPoint(SERVICE, bound=3600.0)
    changes = msgspec.json.decode(
        msgspec.json.encode(everything(point.state.names, size)), type=protocol.Changes
    )
    point.take(changes, point.clock())
    return point


class _Hub(httpx.AsyncBaseTransport):
    """Answers each renewal that nothing has changed, with the digest of a part of the rights."""

    def __init__(self, point: DecisionPoint) -> None:
        self._point = point
        self._checked: protocol.Checked | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked: dict[str, Any] = msgspec.json.decode(request.content)
        await asyncio.sleep(asked["wait"])
        state = self._point.state
        assert state.tokens is not None
        assert state.account is not None
        unchanged = protocol.Changes(
            asked["nonce"], 1_700_000_000.0, asked["position"], 1, 10, "10:10:", state.digest.text,
            state.tokens, state.account, checked=self._part(),
        )  # fmt: skip
        return httpx.Response(200, content=msgspec.json.encode(unchanged))

    def _part(self) -> protocol.Checked:
        """Return what a renewal compares: always the same part, whose digest costs nothing here."""
        if self._checked is None:
            users = self._point.state.users
            digest = protocol.rights_digest(users[number] for number in range(1_001, 1_201))
            self._checked = protocol.Checked(("user", 1_000), ("user", 1_200), digest)
        return self._checked


async def _serve(file: Path, place: str, log_file: str | None) -> None:
    """Serve as ``portcullis pdp`` does; ``place`` is a port, or the path of a Unix socket."""
    key = file.with_name("key")
    key.write_text(KEY)
    key.chmod(0o600)
    listen = place if "/" in place else f"127.0.0.1:{place}"
    settings = PdpSettings(hub="http://hub", key_file=key, services=SERVICE, listen=listen, file=file)
    point = DecisionPoint(SERVICE, bound=settings.bound)
    log = None
    if log_file is not None:
        log = DecisionLog(DecisionWriter(output_named(Path(log_file))), 1.0)
    async with Follower(settings, point, _Hub(point)) as follower:
        follower.restore()
        gc.collect()
        gc.freeze()
        if log is not None:
            log.start()
        await serve(follower, PdpApp(follower, log))
        if log is not None:
            await log.finish()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None))
