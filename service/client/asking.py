"""Asks Portcullis, synchronously and asynchronously; every failure is a denial."""

import asyncio
import json
import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypedDict

import httpx

from .entities import Decision, Question, Resource, Subject
from .exchange import Exchange, Kept, Reply, Semantic

_LOG: Final = logging.getLogger(__name__)
_OK: Final = 200
_TRIES: Final = 2  # a kept connection may have been closed at the other end; questions change nothing
_LOST: Final = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class _Options(TypedDict):
    base_url: str
    headers: dict[str, str]
    timeout: float
    trust_env: bool


class _Asking:
    """What both clients have in common."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        service: str | None = None,
        timeout: float = 2.0,
        cache_seconds: float = 0.0,
    ) -> None:
        """``url`` is where Portcullis is, ``key`` the API key of an account with `system:policy:evaluate`.

        ``service`` is the service whose routes are asked about; without it, it is that of the account.
        ``timeout`` is in seconds. Decisions are kept for ``cache_seconds``, 0 for not at all: a user who
        loses a permission keeps it for so long. Raises ValueError for a bad value.
        """
        if not url.startswith(("http://", "https://")):
            raise ValueError("The URL of Portcullis begins with http:// or https://")
        if not (key.isascii() and key.isprintable() and key.strip() == key != ""):
            raise ValueError("The API key is missing, or is none")
        if not 0 < timeout < float("inf"):
            raise ValueError("The timeout is a positive number of seconds")
        self._service = service
        self._timeout = timeout
        self._kept = Kept(cache_seconds)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        # Not by a proxy from the environment: it would see the key, and could answer in place of Portcullis.
        self._options = _Options(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def _exchange(self, questions: Sequence[Question], semantic: Semantic) -> Exchange:
        return Exchange(questions, semantic, self._service, self._kept)


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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``transport`` replaces that of httpx; the rest as in ``AsyncPortcullis``."""
        super().__init__(url, key, service=service, timeout=timeout, cache_seconds=cache_seconds)
        self._http = httpx.Client(**self._options, transport=transport)

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
                return _reply(self._http.post(path, content=body))
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``transport`` replaces that of httpx."""
        super().__init__(url, key, service=service, timeout=timeout, cache_seconds=cache_seconds)
        self._http = httpx.AsyncClient(**self._options, transport=transport)

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

    async def _sent(self, path: str, body: bytes) -> Reply:
        try:
            return _reply(await self._http.post(path, content=body))
        except _LOST:
            return _reply(await self._http.post(path, content=body))

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
