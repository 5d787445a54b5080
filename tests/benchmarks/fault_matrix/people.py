"""The users of a fault matrix: who may do what is asked, and who must be refused whatever fails."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from tests.benchmarks.fault_matrix.calls import Caller, Reply
from tests.support.members import USER

RENEWERS = tuple(f"renewer{number}" for number in range(6))
"""Those who refresh: several, so that a fault meets refreshes that are under way."""

NAMES = ("opener", *RENEWERS, "powerless", "kicked", "banned", "replayer")


@dataclass(frozen=True)
class Intruders:
    """Credentials that open nothing, and why.

    ``powerless`` is a token without rights. ``kicked`` and ``banned`` are tokens that were good until their
    users were kicked and banned; ``banned_refresh`` belongs to the latter. ``spent`` was used, and the token
    that came of it as well.
    """

    powerless: str
    kicked: str
    banned: str
    banned_refresh: str
    spent: str


def make_people(database_url: str) -> None:
    """Write the users, past the service; none has a role."""
    with psycopg.connect(database_url) as connection:
        for name in NAMES:
            connection.execute(USER.encode(), (name, name, name))


def make_intruders(caller: Caller, database_url: str) -> Intruders:
    """Log in, and take away again what each intruder was given."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute('SELECT user_name, id FROM sys."user"').fetchall()
    ids: dict[str, int] = dict(rows)
    administrator = _token(caller.log_in())
    caller.ask("DELETE", f"/api/online/{ids['banned']}/ban", token=administrator)
    powerless, kicked, banned = (caller.log_in(name) for name in ("powerless", "kicked", "banned"))
    for reply in (powerless, kicked, banned):
        assert caller.ask("GET", "/api/user/info", token=_token(reply)).status == 200
    first = caller.log_in("replayer")
    second = caller.refresh(first.json["data"]["refreshToken"])
    assert caller.ask("GET", "/api/user/info", token=_token(second)).status == 200
    assert caller.ask("DELETE", f"/api/online/{ids['kicked']}", token=administrator).status == 200
    ban = caller.ask("POST", f"/api/online/{ids['banned']}/ban", {"reason": "fault"}, token=administrator)
    assert ban.status == 200, ban.body
    return Intruders(
        _token(powerless),
        _token(kicked),
        _token(banned),
        banned.json["data"]["refreshToken"],
        first.json["data"]["refreshToken"],
    )


def _token(reply: Reply) -> str:
    assert reply.status == 200, reply.body
    token: str = reply.json["data"]["accessToken"]
    return token
