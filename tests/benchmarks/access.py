"""What an answer to a question of another service costs, against bare Falcon, as a guarded request does.

One worker on one core answers all of them, and the load comes from another. Rounds alternate, and each ratio
is that of two neighbouring rounds.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.apps import TEMPLATE
from tests.benchmarks.frame.results import Pace, Result, at_least, at_most, result
from tests.benchmarks.idle_extension import READ
from tests.benchmarks.installation import IDLE, environment, install, log_in
from tests.benchmarks.load import json_request, request_bytes
from tests.benchmarks.pdp_latency import BY_HTTP, SHARE, connected, few, measured_at
from tests.benchmarks.servers import interleaved, measured, pin_to_last_core, serving, serving_worker

EVALUATION = "/access/v1/evaluation"
EVALUATIONS = "/access/v1/evaluations"
BATCH = 100
ONE = {"rate_goals": [at_least(0.45, "ratio")], "cpu_goals": [at_most(1 / 0.45, "ratio")]}
MANY = {"rate_goals": [at_least(2_000)]}
"""200,000 questions a second."""

SUBJECT = {"subject": {"type": "user", "id": "admin"}}
CODE = {**SUBJECT, "action": {"name": "use"}, "resource": {"type": "permission", "id": "system:role:list"}}
ROUTE = {**SUBJECT, "action": {"name": "GET"}, "resource": {"type": "route", "id": "/api/role/list"}}
ROUTES: dict[str, Any] = {**SUBJECT, "action": {"name": "GET"}}
ROUTES["evaluations"] = [
    {"resource": {"type": "route", "id": f"/api/role/{id_}"}} for id_ in range(1, BATCH + 1)
]
QUESTIONS = (
    ("about a code", EVALUATION, CODE, ONE),
    ("about a route", EVALUATION, ROUTE, ONE),
    (f"about {BATCH} routes", EVALUATIONS, ROUTES, MANY),
)


def main(pace: Pace) -> Iterator[Result]:
    """Yield requests a second and processor time of each kind of question, beside a guarded request."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder) / "data", durable=False) as stores,
    ):
        pin_to_last_core()
        environ = environment(stores, Path(folder)) | IDLE
        install(environ)
        with serving("tests.benchmarks.apps:bare", environ) as bare, serving_worker(environ) as service:
            bearer = {"Authorization": f"Bearer {log_in(service)}"}
            asked = [(bare, request_bytes(TEMPLATE, bare.port))]
            asked += [(service, request_bytes(READ, service.port, **bearer))]
            asked += [
                (service, json_request("POST", path, service.port, body, **bearer))
                for _, path, body, _ in QUESTIONS
            ]
            plain, guarded, *answers = interleaved(asked, pace)
            connect = partial(connected, service.port)
            times = [measured_at(connect, [asked[2][1]], pace.seconds, seed)[1] for seed in range(few(pace))]
    reference = measured("bare Falcon", plain, chart="A question of another service")
    yield from reference
    yield from measured(
        "a guarded request", guarded, against=reference, chart="A question of another service"
    )
    goal = at_most(BY_HTTP)
    yield result(f"p99 of a question about a code, at {SHARE:.0%} of capacity", "ms", times, goals=[goal])
    for (name, _, _, goals), answer in zip(QUESTIONS, answers, strict=True):
        chart = "A question of another service" if goals is ONE else ""
        yield from measured(name, answer, against=reference, chart=chart, **goals)
