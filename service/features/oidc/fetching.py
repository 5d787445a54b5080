"""Answers of providers, limited in time and size, so that no provider blocks a worker."""

import asyncio
import ssl
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import structlog

from service.errors import Unavailable
from service.features.oidc.sentences import sentence
from service.kernel.strict_json import strict_object

MOST_BYTES: Final = 512 * 1024
"""The maximum size of an answer in bytes."""
_JSON: Final = ("application/json", "application/jwk-set+json")
_PLAIN: Final = ("", "identity")
_OK: Final = 200

_log = structlog.get_logger(__name__)


class ProviderRefused(Exception):  # noqa: N818 - it says what it is
    """A provider answered with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class Fetcher:
    """Requests to one provider over HTTPS, without redirects; ``timeout`` (seconds) covers a whole answer.

    The client is created at the first request, so httpx is imported only if there is a provider.
    """

    def __init__(self, name: str, timeout: float, ca_file: Path | None = None) -> None:
        self._name = name
        self._timeout = timeout
        self._ca_file = ca_file
        self._client: Any = None

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, object]:
        """Return the JSON object at ``url``.

        Raises ``Unavailable``, and ``ProviderRefused`` for a status other than success.
        """
        return await self._ask("GET", url, headers=dict(headers or {}))

    async def post(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        """Return the JSON object that answers a form; raises as ``get``."""
        return await self._ask("POST", url, data=dict(form), headers=dict(headers or {}))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _ask(self, method: str, url: str, **options: Any) -> dict[str, object]:
        try:
            if self._client is None:
                self._client = self._made()  # takes part of a second, which is not the provider's
            async with asyncio.timeout(self._timeout):
                status, content = await self._answer(method, url, options)
            document = strict_object(content) if status == _OK else {}
        except Exception as error:  # noqa: BLE001 - whatever a hostile answer makes of the client
            reason = "timeout" if isinstance(error, TimeoutError) else type(error).__name__
            _log.warning("a provider did not answer as it should", provider=self._name, reason=reason)
            raise Unavailable(sentence("provider_answer_invalid")) from None
        if status != _OK:
            raise ProviderRefused(status)
        return document

    async def _answer(self, method: str, url: str, options: Mapping[str, Any]) -> tuple[int, bytes]:
        async with self._client.stream(method, url, **options) as response:
            if response.status_code != _OK:
                return response.status_code, b""
            if response.headers.get("content-encoding", "") not in _PLAIN:
                raise ValueError("compressed")  # a little would become very much
            if response.headers.get("content-type", "").partition(";")[0].strip().lower() not in _JSON:
                raise ValueError("no JSON")
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise ValueError("too large")
            return _OK, bytes(content)

    def _made(self) -> Any:
        httpx = import_module("httpx")
        context = ssl.create_default_context(cafile=None if self._ca_file is None else str(self._ca_file))
        return httpx.AsyncClient(
            verify=context,
            timeout=self._timeout,
            follow_redirects=False,
            trust_env=False,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=10, max_keepalive_connections=2),
        )
