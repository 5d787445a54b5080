"""What it costs to be guarded: one GET with everything on, against bare Falcon, in one run.

The guarded one is asked with an access token and with an API key.

Each server has one worker on one core, and the load comes from another. Rounds alternate, and each ratio is
that of two neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.launch.prepare import publish_policy
from service.settings import load
from tests.benchmarks.frame.results import Pace, Result, at_least, at_most
from tests.benchmarks.guarded_apps import TEMPLATE
from tests.benchmarks.installation import access_token, api_key, environment
from tests.benchmarks.load import request_bytes
from tests.benchmarks.rounds import interleaved, measured
from tests.benchmarks.servers import pin_to_last_core, serving
from tests.support.seeded import seed_database

APPS = "tests.benchmarks.guarded_apps"
SHARE = 0.6
"""Of bare Falcon's requests a second, and of its processor time the other way round."""


def main(pace: Pace) -> Iterator[Result]:
    """Yield requests a second and processor time, for HS256 and EdDSA tokens."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            pin_to_last_core()
            for algorithm in ("HS256", "EdDSA"):
                yield from _compared(algorithm, environment(stores, place, algorithm), pace)


def _compared(algorithm: str, environ: Mapping[str, str], pace: Pace) -> Iterator[Result]:
    settings = load(environ)
    publish_policy(settings, read_shipped())
    token, key = access_token(environ), asyncio.run(api_key(settings))
    with ExitStack() as stack:
        bare = stack.enter_context(serving(f"{APPS}:bare", environ))
        guarded = stack.enter_context(serving(f"{APPS}:guarded", environ))
        asked = (
            (bare, request_bytes(TEMPLATE, bare.port)),
            (guarded, request_bytes(TEMPLATE, guarded.port, Authorization=f"Bearer {token}")),
            (guarded, request_bytes(TEMPLATE, guarded.port, Authorization=f"Bearer {key}")),
        )
        alone, with_token, with_key = interleaved(asked, pace)
    chart = f"One guarded GET, tokens by {algorithm}"
    reference = measured(f"bare Falcon, {algorithm}", alone, chart=chart)
    yield from reference
    yield from measured(
        f"guarded, {algorithm}",
        with_token,
        against=reference,
        rate_goals=[at_least(SHARE, "ratio")],
        cpu_goals=[at_most(1 / SHARE, "ratio")],
        chart=chart,
    )
    yield from measured(f"by API key, {algorithm}", with_key, against=reference, chart=chart)
