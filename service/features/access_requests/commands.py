"""``portcullis request …``: requests for roles listed and shown, and decided as a user, over HTTP."""

import http.client
import json
import ssl
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from getpass import getpass
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from service.audit.seals import seals_of
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import Parts, add_usual
from service.cli.output import aligned, say, show
from service.features.access_requests import store, store_catalogue
from service.features.access_requests.api_requests import AccessRequest, shown_request
from service.features.access_requests.effects import effect_of
from service.features.access_requests.schema import State, Verdict
from service.features.access_requests.store import RequestFilter
from service.kernel.hosts import is_local
from service.kernel.strict_json import strict_json
from service.kernel.text import printable
from service.operator.database import with_connection, with_database
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.records import assignments
from service.records.database.transactions import Connection, Database
from service.settings import load
from service.web.messages.schema import WHOLE_LIST, Page

_WITHIN: Final = 30.0  # seconds
_DEVICE: Final = "command-line"  # its own device, so that a login ends no browser session
_HEAD: Final = ("ID", "STATE", "USER", "ROLE", "ASKED", "DEADLINE OR END", "REASON")


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument("--state", choices=get_args(State), help="only requests in this state")
    add_usual(parser)


def _list(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all requests, the newest first; raises SchemaError and Unavailable."""
    criteria = RequestFilter(state=None if options.state is None else [options.state])

    async def read(connection: Connection) -> Page[AccessRequest]:
        now = await assignments.now(connection)
        listed = await store.page(connection, criteria, None, now, page=1, size=WHOLE_LIST)
        decided = await store.decisions(connection, [each.id for each in listed.items])
        names = await store_catalogue.role_names(connection, {each.role_id for each in listed.items})
        items = [
            shown_request(each, decided[each.id], role_name=names.get(each.role_id)) for each in listed.items
        ]
        return Page(items=items, page=1, size=WHOLE_LIST, total=listed.total)

    with reachable(load(environ)) as settings:
        listed = with_connection(settings, read)
    show(options, listed, lambda: aligned([_HEAD, *map(_cells, listed.items)]))


def _cells(request: AccessRequest) -> tuple[str, ...]:
    state = f"{request.state}, open" if request.emergency and request.closed is None else request.state
    ends = str(request.end_time or request.deadline)
    times = str(request.create_time), ends
    return str(request.id), state, request.user_name, request.role_code, *times, request.reason or "-"


def _add_show(parser: ArgumentParser) -> None:
    _add_id(parser)
    add_usual(parser)


def _add_id(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", type=int, help="the number of the request, as in 'portcullis request list'"
    )


def _show(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print a request with its decisions; for a pending one also the effect of the grant.

    Raises NotFound, PolicyError, SchemaError and Unavailable.
    """

    async def read(database: Database) -> AccessRequest:
        async with database.snapshot() as connection:
            now = await assignments.now(connection)
            request = await store.read(connection, options.id, now)
            decided = (await store.decisions(connection, [request.id]))[request.id]
            names = await store_catalogue.role_names(connection, [request.role_id])
        role_name = names.get(request.role_id)
        if request.state != "pending":
            return shown_request(request, decided, role_name=role_name)
        live = LivePolicy(configured(settings), seals_of(settings.oplog))
        await live.load(database)
        async with database.snapshot() as connection:
            effect = await effect_of(connection, live.current, live.invariants, request, now)
        return shown_request(request, decided, effect, role_name=role_name)

    with reachable(load(environ)) as settings:
        request = with_database(settings, read)
    show(options, request, lambda: _lines(request))


def _lines(request: AccessRequest) -> Iterator[str]:
    facts = {
        "state": request.state + (" (emergency)" if request.emergency else ""),
        "user": request.user_name,
        "role": request.role_code,
        "from": request.valid_from,
        "until": request.valid_until,
        "duration": request.duration and f"{request.duration} s",
        "reason": request.reason,
        "ticket": request.ticket,
        "asked": f"{request.create_time} ({request.asked_decision_id})",
        "deadline": request.deadline,
        "ended": request.end_time and f"{request.end_time} by {request.ended_by or 'nobody'}",
        "because": request.end_reason,
        "closed": request.closed and f"by {request.closed.user_name}: {request.closed.reason}",
    }
    yield from aligned([(name, str(fact)) for name, fact in facts.items() if fact is not None])
    yield from (f"would violate: {statement}" for statement in request.breaks or ())
    if request.held is not None:
        yield f"already held: {', '.join(request.held) or 'no permission of the role'}"
    for number, stage in enumerate(request.stages, 1):
        yield f"stage {number}: {stage.counted} of {stage.approvals} holders of {stage.code}"
    for decision in request.decisions:
        until = f" until {decision.valid_until}" if decision.valid_until else ""
        ids = ", ".join(decision.decision_ids)
        what = f"{decision.decision}{until}, {decision.reason} ({ids})"
        yield f"{decision.create_time} {decision.user_name}: {what}"


def _add_decide(parser: ArgumentParser) -> None:
    _add_id(parser)
    parser.add_argument("decision", choices=get_args(Verdict), help="the decision")
    parser.add_argument("--reason", metavar="REASON", required=True, help="why")
    parser.add_argument("--until", metavar="TIME", help="an earlier end, such as 2026-12-31T18:00:00Z")
    parser.add_argument("--url", metavar="URL", required=True, help="the URL of the service")
    parser.add_argument(
        "--user", metavar="NAME", required=True, help="the deciding user, whose password is prompted"
    )


def _decide(options: Namespace, _environ: Mapping[str, str]) -> None:
    """Log in as a user, decide, log out, and print the new state; raises ``LaunchError``.

    The operator of the machine cannot decide. On a terminal, password and code are prompted without echo.
    Otherwise they are the first lines of the standard input.
    """
    site = _Site(options.url)
    site.log_in(options.user)
    try:
        body = {"decision": options.decision, "reason": options.reason, "until": options.until}
        given = {name: value for name, value in body.items() if value is not None}
        decided = site.data("POST", f"/api/access-request/{options.id}/decision", given)
    finally:
        with suppress(LaunchError):  # the decision is stored, and the session expires
            site.ask("POST", "/api/auth/logout")
    say(f"Access request {decided['id']} for the role {decided['roleCode']} is {decided['state']}.")


class _Site:
    """Client of the service at a URL, for one user."""

    def __init__(self, url: str) -> None:
        """Raises ``LaunchError`` for a URL that is not safe for passwords."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if host is None or not (parts.scheme == "https" or (parts.scheme == "http" and is_local(host))):
            raise LaunchError(f"{printable(url)} must be an https:// URL or a URL of this machine")
        self._connect: Callable[[], http.client.HTTPConnection]
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._connect = lambda: http.client.HTTPSConnection(host, port, timeout=_WITHIN, context=context)
        else:
            self._connect = lambda: http.client.HTTPConnection(host, port, timeout=_WITHIN)
        self._token = ""

    def log_in(self, user_name: str) -> None:
        """Log in with a password, and a code if required; raises ``LaunchError`` on failure."""
        body = {"userName": user_name, "password": _secret("Password: "), "device": _DEVICE}
        status, answer = self.ask("POST", "/api/auth/login", body)
        if answer.get("code") == "second_factor_required" and "totp" in answer.get("methods", ()):
            proof = {"challenge": answer["challenge"], "method": "totp", "code": _secret("Code: ")}
            status, answer = self.ask("POST", "/api/auth/login/second-factor", proof)
        self._token = _data(status, answer)["accessToken"]

    def data(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Return the data of a successful answer; raises ``LaunchError`` with the message of a refusal."""
        return _data(*self.ask(method, path, body))

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        """Return status and object of an answer, following no redirect; raises ``LaunchError`` otherwise."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        sent = None if body is None else json.dumps(body).encode()
        if sent is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connect()
        try:
            connection.request(method, path, sent, headers)
            reply = connection.getresponse()
            read = reply.read(1_000_000)
            answer = strict_json(read) if read else {}
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise LaunchError(f"the service does not respond: {type(error).__name__}") from None
        finally:
            connection.close()
        return reply.status, answer if isinstance(answer, dict) else {}


def _data(status: int, answer: Mapping[str, Any]) -> Any:
    if status not in (200, 201) or not isinstance(answer.get("data"), dict):
        faults = [f"{fault['field']}: {fault['message']}" for fault in answer.get("errors", ())]
        why = "; ".join(faults) or str(answer.get("detail", "the response is not from this service"))
        raise LaunchError(f"{status} {answer.get('code', '')}: {why}")
    return answer["data"]


def _secret(prompt: str) -> str:
    return getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")


COMMANDS: Final[Parts] = {
    "list": (_add_list, _list),
    "show": (_add_show, _show),
    "decide": (_add_decide, _decide),
}
