"""Follow the hub with successive renewals, each of which the hub answers as soon as data changes."""

import asyncio
import contextlib
import hmac
import os
import secrets
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Self

import httpx
import msgspec
import structlog

from service.authz.engine.rules import PolicyError
from service.features.follower.kept import pieces, sealed
from service.features.follower.point import DecisionPoint
from service.features.follower.protocol import PATH, Changes
from service.features.follower.settings import PdpSettings, PdpSettingsError
from service.features.follower.state import DivergedError
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.metrics import Sample

_WAIT_SHARE: Final = 0.25  # fraction of the bound that a renewal may wait for changes
_PATIENCE_SHARE: Final = 0.6  # fraction of the bound that a renewal may take before another one is sent
_FIRST: Final = 30.0  # maximum seconds of an answer with all data
_PAUSE: Final = 0.05  # seconds after a failed renewal; doubled each time
_LONGEST_PAUSE: Final = 0.5
_KEEP_EVERY: Final = 10.0  # seconds between two writes of the file
_OK: Final = 200

_log = structlog.get_logger(__name__)
_decode: Final = msgspec.json.Decoder(Changes).decode


class RefusedError(Exception):
    """The hub refuses the follower; ``status`` is the HTTP status."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"the hub responds with {status} {code}".rstrip())
        self.status = status


_FAILURES: Final = (
    httpx.HTTPError,
    TimeoutError,
    RefusedError,
    ValueError,
    msgspec.MsgspecError,
    DivergedError,
    PolicyError,
)


class Follower:
    """Keeps a decision point up to date. Run ``run`` as a task; it continues after every failure."""

    decides = True
    """False if nothing is decided by the answers: then the hub does not list the follower."""

    def __init__(
        self,
        settings: PdpSettings,
        point: DecisionPoint,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Create a follower; ``transport`` replaces that of httpx. Raises PdpSettingsError."""
        self.settings = settings
        self.point = point
        self.renewals = self.failures = 0
        self.fault: str | None = "the hub has not been contacted yet"
        """The reason of the last failed renewal; None after a success."""
        self._http = httpx.AsyncClient(
            base_url=settings.hub,
            headers={"Authorization": f"Bearer {settings.key()}", "Content-Type": "application/json"},
            trust_env=False,
            transport=transport,
            verify=True if settings.ca_file is None else _certificates(settings.ca_file),
        )
        self._seal_key = seal_key_of(settings.key())
        self._instance = secrets.token_hex(8)
        self._failed = self._slow = 0
        self._kept = (float("-inf"), -1)  # time of the last write of the file, and its number of changes

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def restore(self) -> bool:
        """Restore the state from the file; return false if no file can be used."""
        path = self.settings.file
        if path is None or not path.exists():
            return False
        try:
            self.point.restore(path.read_bytes(), self._seal_key)
        except (OSError, ValueError, msgspec.MsgspecError, PolicyError) as error:
            _log.warning("the file of the policy is not used", file=str(path), reason=str(error))
            return False
        return True

    async def first(self) -> None:
        """Wait for the first lease. Raises PdpSettingsError for a hub that signs with a shared key."""
        while not await self._try():
            await self._pause()

    async def run(self, *, strict: bool = True) -> None:
        """Follow until cancelled: every failure is stored in ``fault``, and retried.

        With ``strict``, raises PdpSettingsError for a hub that cannot be followed, before the first success.
        """
        while True:
            try:
                if await self._try():
                    await self._keep()
                    continue
            except PdpSettingsError as error:
                if strict and not self.renewals:
                    raise
                self._fail(error)
            except Exception as error:  # noqa: BLE001 - the task is not awaited, so its end would go unnoticed
                self._fail(error, unexpected=True)
            await self._pause()

    async def _try(self) -> bool:
        try:
            await self.renew()
        except _FAILURES as error:
            self._fail(error)
            return False
        self._tell(None)
        self._failed = self._slow = 0
        return True

    def _fail(self, error: Exception, *, unexpected: bool = False) -> None:
        self.failures += 1
        slow = isinstance(error, TimeoutError | httpx.TimeoutException)
        if slow and not isinstance(error, httpx.ConnectTimeout):  # it was reached, and may have much data
            self._slow = min(self._slow + 1, 10)
        words = [type(error).__name__] if unexpected or not str(error) else []
        self._tell(": ".join([*words, *filter(None, [str(error)])]), error if unexpected else None)

    async def _pause(self) -> None:
        longest = min(_PAUSE * 2**self._failed, _LONGEST_PAUSE)
        self._failed = min(self._failed + 1, 10)
        await asyncio.sleep(longest * (0.5 + secrets.randbelow(500) / 1000))

    async def renew(self, *, wait: bool = True) -> None:
        """Send renewals until an answer is complete. Raises the error of a failure, and keeps the lease."""
        point = self.point
        while True:
            waits = wait and not point.is_reading and not point.is_stale
            await self._once(self._wait if waits else 0.0, self._patience)
            if not point.is_reading:
                return

    @property
    def _patience(self) -> float:
        """Return the maximum seconds of an answer; without a lease, it grows with each slow attempt."""
        point, usual = self.point, self._usual_patience
        if point.lease.holds():
            return usual
        everything = point.is_reading or point.position is None
        return max(usual, _FIRST if everything else min(_FIRST, usual * 2**self._slow))

    @property
    def _usual_patience(self) -> float:
        return max(self.point.lease.bound * _PATIENCE_SHARE, 0.1)

    @property
    def _wait(self) -> float:
        return min(1.0, self.point.lease.bound * _WAIT_SHARE)

    async def _once(self, wait: float, patience: float) -> None:
        point, nonce = self.point, secrets.token_hex(8)
        body: dict[str, Any] = {
            "follower": self.settings.name,
            "instance": self._instance,
            "services": list(self.settings.services),
            "decides": self.decides,
            "acting": True,
            "nonce": nonce,
            "names": urlsafe_b64encode(point.state.names).decode(),
            "wait": wait,
            "lease": point.lease.bound,
        }
        if point.position is not None:
            body["position"] = point.position
        timeout = httpx.Timeout(patience + wait, connect=self._usual_patience)
        async with asyncio.timeout(patience + wait):
            sent = point.clock()  # before anything of the renewal can have left
            answer = await self._http.post(PATH, content=msgspec.json.encode(body), timeout=timeout)
        if answer.status_code != _OK:
            raise RefusedError(answer.status_code, _code(answer))
        changes = _decode(answer.content)
        if changes.nonce != nonce:
            raise ValueError("the response belongs to another renewal")
        if changes.tokens.algorithm.startswith("HS"):
            point.lease.give_up()
            raise PdpSettingsError(
                f"the hub signs tokens with {changes.tokens.algorithm}, so there is no public key to "
                "verify them. Set auth.jwt_algorithm to an asymmetric algorithm, such as ES256, and both "
                "key files: auth.jwt_private_key and auth.jwt_public_key"
            )
        point.take(changes, sent)
        self.renewals += 1

    def _tell(self, fault: str | None, error: Exception | None = None) -> None:
        if fault != self.fault:
            if fault is None:
                _log.info("the hub is followed", revision=self.revision, rights=self.point.state.rights)
            else:
                _log.warning("the hub can't be followed", reason=fault, exc_info=error)
        self.fault = fault

    @property
    def revision(self) -> int:
        """Return the followed revision; 0 before the first."""
        policy = self.point.state.policy
        return 0 if policy is None else policy.revision

    async def _keep(self) -> None:
        path = self.settings.file
        now, applied = self.point.clock(), self.point.applied
        written, of = self._kept
        if path is None or applied == of or now - written < _KEEP_EVERY:
            return
        self._kept = (now, applied)
        content, turns = [], CooperativeYield()
        for piece in pieces(self.point.state.kept()):
            content.append(piece)
            await turns.after_item()
        writing = asyncio.create_task(asyncio.to_thread(_write, path, content, self._seal_key))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # `keep_now` writes the same file
            raise
        except OSError as error:
            _log.warning("the file of the policy can't be written", file=str(path), reason=str(error))

    def keep_now(self) -> None:
        """Write the file, such as before the end of the process; raises OSError."""
        if self.settings.file is not None and self.point.state.complete:
            _write(self.settings.file, pieces(self.point.state.kept()), self._seal_key)

    def samples(self) -> list[Sample]:
        point = self.point
        age = point.lease.age
        return [
            Sample("portcullis_pdp_renewals_total", self.renewals, {"outcome": "answered"}),
            Sample("portcullis_pdp_renewals_total", self.failures, {"outcome": "failed"}),
            Sample("portcullis_pdp_revision", self.revision, {}),
            Sample("portcullis_pdp_rights", point.state.rights, {}),
            Sample("portcullis_pdp_lease", int(point.lease.holds()), {}),
            Sample("portcullis_pdp_age_seconds", age if age != float("inf") else -1, {}),
            Sample("portcullis_pdp_users", len(point.state.users), {}),
        ]


def seal_key_of(api_key: str) -> bytes:
    """Derive the key that seals the file of a follower; API keys have 256 random bits."""
    return hmac.digest(api_key.encode(), b"portcullis: file of a follower", "sha256")


def _write(path: Path, content: Iterable[bytes], seal_key: bytes) -> None:
    """Write the file atomically, readable for its owner only, because it has users' rights."""
    whole = sealed(content, seal_key)
    new = path.with_name(f"{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(whole)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _certificates(path: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(path))


def _code(answer: httpx.Response) -> str:
    try:
        code = msgspec.json.decode(answer.content)["code"]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return ""
    return code if isinstance(code, str) and code.isidentifier() else ""
