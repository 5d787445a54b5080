"""Asks Portcullis, synchronously and asynchronously; every failure is a denial."""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypedDict

import httpx

from .entities import Decision, Question, Resource, Subject
from .exchange import Exchange, Kept, Reply, Semantic

_LOG: Final = logging.getLogger(__name__)
_OK: Final = 200
_TRIES: Final = 2  # a kept connection may have been closed at the other end; questions change nothing
_KEYLESS: Final = "-"  # a decision point beside the service believes who reaches it
# Windows has neither; its `monotonic` counts sleep too.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
_LOST: Final = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


def since_boot() -> float:
    """Return the seconds since the machine was started, including sleep where the system counts it."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def _place(place: str) -> tuple[str, str | None]:
    """Return the URL and the Unix socket of a decision point beside the service."""
    if place.startswith("/"):
        return "http://beside", place
    return place, None


class _Options(TypedDict):
    base_url: str
    headers: dict[str, str]
    timeout: float
    trust_env: bool


class _Asking:
    """The common base of both clients."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        service: str | None = None,
        timeout: float = 2.0,
        cache_seconds: float = 0.0,
        bound: float | None = None,
    ) -> None:
        """``url`` is the address of Portcullis, ``key`` an API key with `system:policy:evaluate`.

        ``bound`` is the maximum age, in seconds, of the data behind an answer of a local decision point, on
        arrival; None for answers of Portcullis itself.

        ``service`` is the service whose routes are asked about; without it, it is that of the account.
        ``timeout`` is in seconds. Decisions are kept for ``cache_seconds``, 0 for not at all: a user who
        loses a permission keeps it for so long. Raises ValueError for a bad value.
        """
        if not url.startswith(("http://", "https://")):
            raise ValueError("The URL of Portcullis must start with http:// or https://")
        if not (key.isascii() and key.isprintable() and key.strip() == key != ""):
            raise ValueError("The API key is missing or malformed")
        if not 0 < timeout < float("inf"):
            raise ValueError("The timeout must be a positive number of seconds")
        self._service = service
        self._timeout = timeout
        self._bound = bound
        self._kept = Kept(cache_seconds)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        # Not by a proxy from the environment: it would see the key, and could answer in place of Portcullis.
        self._options = _Options(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def _exchange(self, questions: Sequence[Question], semantic: Semantic) -> Exchange:
        return Exchange(questions, semantic, self._service, self._kept)

    def _fresh(self, answer: httpx.Response, sent: float) -> Reply | None:
        """Return the reply to a question sent at ``sent``; None if its data may be too old.

        The decision point may have paused between deciding and answering, and this process too. So the age in
        the answer and the time since the question are added.
        """
        if self._bound is not None:
            age = answer.headers.get("portcullis-age", "")
            stale = answer.headers.get("portcullis-stale") is not None or not age.isdecimal()
            if stale or int(age) / 1000 + since_boot() - sent > self._bound:
                _LOG.warning("The decision point beside this service has an answer that is too old")
                return None
        return _reply(answer)


class Portcullis(_Asking):
    """Asks Portcullis; may be shared by threads. ``close`` it, or use it by ``with``.

    ``timeout`` bounds each wait: for a connection, and for each part of the answer.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        service: str | None = None,
        timeout: float = 2.0,
        cache_seconds: float = 0.0,
        bound: float | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``transport`` replaces that of httpx; the rest as in ``AsyncPortcullis``."""
        super().__init__(url, key, service=service, timeout=timeout, cache_seconds=cache_seconds, bound=bound)
        self._http = httpx.Client(**self._options, transport=transport)

    @classmethod
    def beside(cls, place: str, *, service: str | None = None, bound: float = 2.0) -> Self:
        """Return a client of the local decision point of this service, such as ``portcullis pdp``.

        ``place`` is the path of its socket, or its URL. The data behind an answer is at most ``bound``
        seconds old on arrival; an older answer becomes a denial with the reason ``unavailable``.
        """
        url, path = _place(place)
        transport = None if path is None else httpx.HTTPTransport(uds=path)
        return cls(url, _KEYLESS, service=service, timeout=bound, bound=bound, transport=transport)

    def check(self, subject: Subject, code: str) -> bool:
        """Return True if ``subject`` may do what the permission code stands for; False on any failure."""
        return self.evaluate(subject, "use", Resource.permission(code)).allowed

    def evaluate(self, subject: Subject, action: str, resource: Resource) -> Decision:
        """Return the decision; a denial with the reason ``unavailable`` on any failure."""
        return self.evaluations([Question(subject, action, resource)])[0]

    def evaluations(
        self, questions: Sequence[Question], semantic: Semantic = "execute_all"
    ) -> list[Decision]:
        """Return a decision for each question, in order; at most 1,000 (ValueError)."""
        exchange = self._exchange(questions, semantic)
        return exchange.decisions(self._ask(*exchange.request) if exchange.asked else None)

    def _ask(self, path: str, body: bytes) -> Reply | None:
        for left in reversed(range(_TRIES)):
            try:
                sent = since_boot()
                return self._fresh(self._http.post(path, content=body), sent)
            except httpx.HTTPError as error:
                if not left or not isinstance(error, _LOST):
                    _LOG.warning("Portcullis can't be asked: %s", type(error).__name__)
                    break
        return None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncPortcullis(_Asking):
    """Asks Portcullis from asyncio. ``aclose`` it, or use it by ``async with``.

    ``timeout`` bounds the whole question.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        service: str | None = None,
        timeout: float = 2.0,
        cache_seconds: float = 0.0,
        bound: float | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``transport`` replaces that of httpx."""
        super().__init__(url, key, service=service, timeout=timeout, cache_seconds=cache_seconds, bound=bound)
        self._http = httpx.AsyncClient(**self._options, transport=transport)

    @classmethod
    def beside(cls, place: str, *, service: str | None = None, bound: float = 2.0) -> Self:
        """Return a client of the local decision point of this service, such as ``portcullis pdp``.

        ``place`` is the path of its socket, or its URL. The data behind an answer is at most ``bound``
        seconds old on arrival; an older answer becomes a denial with the reason ``unavailable``.
        """
        url, path = _place(place)
        transport = None if path is None else httpx.AsyncHTTPTransport(uds=path)
        return cls(url, _KEYLESS, service=service, timeout=bound, bound=bound, transport=transport)

    async def check(self, subject: Subject, code: str) -> bool:
        """Return True if ``subject`` may do what the permission code stands for; False on any failure."""
        return (await self.evaluate(subject, "use", Resource.permission(code))).allowed

    async def evaluate(self, subject: Subject, action: str, resource: Resource) -> Decision:
        """Return the decision; a denial with the reason ``unavailable`` on any failure."""
        return (await self.evaluations([Question(subject, action, resource)]))[0]

    async def evaluations(
        self, questions: Sequence[Question], semantic: Semantic = "execute_all"
    ) -> list[Decision]:
        """Return a decision for each question, in order; at most 1,000 (ValueError)."""
        exchange = self._exchange(questions, semantic)
        return exchange.decisions(await self._ask(*exchange.request) if exchange.asked else None)

    async def _ask(self, path: str, body: bytes) -> Reply | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._sent(path, body)
        except (httpx.HTTPError, TimeoutError) as error:
            _LOG.warning("Portcullis can't be asked: %s", type(error).__name__)
            return None

    async def _sent(self, path: str, body: bytes) -> Reply | None:
        sent = since_boot()
        try:
            answer = await self._http.post(path, content=body)
        except _LOST:
            answer = await self._http.post(path, content=body)
        return self._fresh(answer, sent)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _reply(answer: httpx.Response) -> Reply:
    if answer.status_code != _OK:
        _LOG.warning("Portcullis answers a question by %d %s", answer.status_code, _code(answer))
    return Reply(answer.status_code, answer.headers.get("content-type", ""), answer.content)


def _code(answer: httpx.Response) -> str:
    """Return the code of a problem document; "" if it is none."""
    try:
        code = json.loads(answer.content)["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return code if isinstance(code, str) and code.isidentifier() else ""
