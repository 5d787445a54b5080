"""Who sends the requests that schemathesis makes: accounts that live on, whatever the requests do to them.

``FUZZ_KEEPER`` and ``FUZZ_PASSWORD`` name an administrator who makes an account, and makes another one when
its password, name or state was changed by its own requests. ``FUZZ_ROLES`` is a list of the role ids of each
account, as JSON; they take turns.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
from typing import Any

import httpx
import schemathesis
from schemathesis.core.failures import Failure

_KNOWN_IDS = 40
"""Ids up to this one are tried most often: records have them."""
_PASSWORD = "five patient herons"  # another one than in the examples, which change passwords


class Account:
    """An account in the roles of ``roles`` that requests are sent for."""

    def __init__(self, roles: list[int]) -> None:
        self._roles = roles
        self._client = httpx.Client(base_url=os.environ["FUZZ_URL"], trust_env=False, timeout=60)
        self._name = ""
        self.token = ""

    def sure_token(self) -> str:
        """Return an access token that worked when it was used last."""
        if not self.token and self._name:
            self.token = self._log_in(self._name, _PASSWORD)
        if not self.token:
            self._name = self._created()
            self.token = self._log_in(self._name, _PASSWORD)
        return self.token

    def _log_in(self, name: str, password: str) -> str:
        """Return an access token; "" if the login is refused."""
        answer = self._client.post("/api/auth/login", json={"userName": name, "password": password})
        return str(answer.json()["data"]["accessToken"]) if answer.status_code == httpx.codes.OK else ""

    def _created(self) -> str:
        """Return the name of a new user."""
        keeper = self._log_in(os.environ["FUZZ_KEEPER"], os.environ["FUZZ_PASSWORD"])
        name = f"fuzz-{secrets.token_hex(4)}"
        body = {"userName": name, "nickName": name, "password": _PASSWORD, "roleIds": self._roles}
        answer = self._client.post("/api/user", json=body, headers={"Authorization": f"Bearer {keeper}"})
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return name


_ACCOUNTS = [Account(roles) for roles in json.loads(os.environ["FUZZ_ROLES"])]
_TURNS = itertools.cycle(_ACCOUNTS)


@schemathesis.serializer("application/jsonl")
def lines(_context: Any, value: Any) -> bytes:
    """Return what is sent for a value of JSON Lines, whose schema is a text."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@schemathesis.auth(refresh_interval=None)
class Bearer:
    """Sends the token of the account whose turn it is."""

    def get(self, _case: Any, _context: Any) -> str:
        return next(_TURNS).sure_token()

    def set(self, case: Any, data: str, _context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def after_call(_context: Any, _case: Any, response: Any) -> None:
    """Log in again after the token was refused: the session is gone. A check sends requests without it."""
    sent = response.request.headers.get("Authorization")
    if response.status_code == httpx.codes.UNAUTHORIZED:
        for account in _ACCOUNTS:
            if sent == f"Bearer {account.token}":
                account.token = ""


@schemathesis.hook
def map_path_parameters(_context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Bring most of the valid ids into the range in which there are records."""
    return path_parameters and {name: _nearer(value) for name, value in path_parameters.items()}


def _nearer(value: Any) -> Any:
    return value % _KNOWN_IDS + 1 if type(value) is int and _KNOWN_IDS < value < 2**63 else value


@schemathesis.hook
def before_call(_context: Any, case: Any, **_named: Any) -> None:
    """Spare the first user and the first role: the keeper and what it may do."""
    for name, value in (case.path_parameters or {}).items():
        if value == 1:
            case.path_parameters[name] = _KNOWN_IDS


@schemathesis.hook
def filter_failure(_context: Any, failure: Failure, _case: Any, _response: Any) -> bool:
    """Keep all failures but those that are none."""
    return "in header - object with unexpected properties" not in failure.message  # any header may be sent
