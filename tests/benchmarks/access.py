"""What an answer to a question of another service costs, against a guarded request that does nothing.

Each server has one worker on one core, and the load comes from another. Rounds alternate, and each ratio is
that of two neighbouring rounds.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.launch.prepare import publish_policy
from service.settings import load
from tests.benchmarks.guarded import environment, measure, token_of
from tests.benchmarks.guarded_apps import TEMPLATE
from tests.benchmarks.load import json_request, request_bytes
from tests.benchmarks.servers import pin_to_last_core, serving
from tests.support.seeded import seed_database

ROUNDS = 5
EVALUATION = "/access/v1/evaluation"
EVALUATIONS = "/access/v1/evaluations"
MOST, LEAST, BATCH, WITHIN = 1.3, 5_000, 100, 1_500  # times, answers a second, questions, microseconds

SUBJECT = {"subject": {"type": "user", "id": "admin"}}
CODE = {**SUBJECT, "action": {"name": "use"}, "resource": {"type": "permission", "id": "system:role:list"}}
ROUTE = {**SUBJECT, "action": {"name": "GET"}, "resource": {"type": "route", "id": "/api/role/list"}}
MANY: dict[str, Any] = {**SUBJECT, "action": {"name": "GET"}}
MANY["evaluations"] = [
    {"resource": {"type": "route", "id": f"/api/role/{id_}"}} for id_ in range(1, BATCH + 1)
]


def main() -> None:
    """Print requests a second and processor time of each, and whether the goals are kept."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder) / "data", durable=False) as stores,
    ):
        seed_database(stores.database_url)
        pin_to_last_core()
        environ = environment(stores, Path(folder), "HS256")
        publish_policy(load(environ), read_shipped())
        bearer = {"Authorization": f"Bearer {asyncio.run(token_of(load(environ)))}"}
        with ExitStack() as stack:
            guarded = stack.enter_context(serving("tests.benchmarks.guarded_apps:guarded", environ))
            service = stack.enter_context(serving("tests.benchmarks.access_apps:service", environ))
            plain = request_bytes(TEMPLATE, guarded.port, **bearer)
            for name, path, body in (
                ("a code", EVALUATION, CODE),
                ("a route", EVALUATION, ROUTE),
                (f"{BATCH} routes", EVALUATIONS, MANY),
            ):
                request = json_request("POST", path, service.port, body, **bearer)
                pairs = [(measure(guarded, plain), measure(service, request)) for _ in range(ROUNDS)]
                _print(name, pairs)


def _print(name: str, pairs: list[Any]) -> None:
    rates, cpu = (median(getattr(one, what) for _, one in pairs) for what in ("rate", "cpu"))
    ratios = [one.cpu / plain.cpu for plain, one in pairs]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"{name:<12} {rates:9,.0f} requests/s   {cpu:7.1f} µs of processor time each")
    if name.startswith(str(BATCH)):
        print(f"  {'is kept' if cpu <= WITHIN else 'is NOT kept'}: at most {WITHIN} µs")
        return
    kept = median(ratios) <= MOST and rates >= LEAST
    print(f"  {median(ratios):.2f} times a guarded request ({spread})")
    print(
        f"  {'is kept' if kept else 'is NOT kept'}: at most {MOST} times, at least {LEAST:,} a second",
        flush=True,
    )
