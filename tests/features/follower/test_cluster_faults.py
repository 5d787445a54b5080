"""A primary of a cluster dies under load, and no token is let in for longer than the bound after its end."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.features.decisions.client.asking import AsyncPortcullis, since_boot
from service.features.decisions.client.entities import Question, Resource, Subject
from service.keyspace.keys import ClusterNames
from tests.features.follower.test_faults import BOUND, Site, site
from tests.support.valkey_cluster import ValkeyCluster
from tests.support.waiting import eventually, eventually_here

pytestmark = pytest.mark.extended

PASSWORD = "correct horse battery 7"
PEOPLE = 6
LIST = ClusterNames().of("auth:revocations", ClusterNames().queues[0])


@pytest.fixture
def cluster() -> Iterator[ValkeyCluster]:
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ValkeyCluster(Path(folder)) as made:
        yield made


class Sessions:
    """People who log in, are let in beside the service, log out, and try their tokens again."""

    def __init__(self, made: Site) -> None:
        self.made = made
        self.done = False
        self.ended = self.let_in = self.refused = self.dropped = 0
        self.wrong: list[str] = []

    async def prepare(self, http: httpx.AsyncClient) -> None:
        for number in range(PEOPLE):
            body = {"userName": f"person-{number}", "nickName": "P", "password": PASSWORD}
            answer = await http.post("/api/user", json=body | {"roleIds": [self.made.role]})
            assert answer.status_code == 201, answer.text

    async def live(self, number: int) -> None:
        place = self.made.places[number % len(self.made.places)]
        async with (
            httpx.AsyncClient(base_url=self.made.hub.url, timeout=30, trust_env=False) as http,
            AsyncPortcullis.beside(place, service="orders", bound=BOUND) as portcullis,
        ):
            while not self.done:
                body = {"userName": f"person-{number}", "password": PASSWORD}
                with suppress(httpx.HTTPError):
                    answer = await http.post("/api/auth/login", json=body)
                    if answer.status_code == 200:
                        await self.use(http, portcullis, answer.json()["data"]["accessToken"])
                await asyncio.sleep(0.1)

    async def use(self, http: httpx.AsyncClient, portcullis: AsyncPortcullis, token: str) -> None:
        """Ask about a token until and after it was ended; look at each accepted answer."""
        ended: list[float] = []

        async def log_out() -> None:
            await asyncio.sleep(0.5)
            while not ended and not self.done:
                with suppress(httpx.HTTPError):
                    answer = await http.post("/api/auth/logout", headers={"Authorization": f"Bearer {token}"})
                    if answer.status_code == 200:
                        ended.append(since_boot())
                    elif answer.status_code == 401:
                        return  # an attempt that was not answered has ended it, or a failover
                await asyncio.sleep(0.05)

        ending = asyncio.create_task(log_out())
        question = Question(Subject.token(token), "GET", Resource.route("/orders/7"))
        while not ending.done() or (ended and since_boot() < ended[0] + BOUND + 1.0):
            (answer,) = await portcullis.evaluations([question])
            accepted = since_boot()
            if answer.reason in ("unavailable", "stale"):
                self.dropped += 1
            elif not answer.allowed:
                self.refused += 1
            else:
                self.let_in += 1
                if ended and accepted > ended[0] + BOUND:
                    self.wrong.append(f"{answer} {accepted - ended[0]:.3f} seconds after the logout")
            await asyncio.sleep(0.01)
        await ending
        self.ended += len(ended)


async def test_no_token_is_let_in_for_longer_than_the_bound_after_its_logout(
    tmp_path: Path, cluster: ValkeyCluster
) -> None:
    of_hub = {"REDIS_URL": cluster.url, "PORTCULLIS_REDIS__WAIT_REPLICAS": "1"}
    of_hub["PORTCULLIS_THROTTLE__ENABLED"] = "false"
    async with site(tmp_path, 2, of_hub=of_hub) as made:
        people = Sessions(made)
        async with httpx.AsyncClient(base_url=made.hub.url, timeout=60, trust_env=False) as http:
            admin: dict[str, Any] = {"userName": "admin", "password": made.hub.password}
            answer = await http.post("/api/auth/login", json=admin)
            http.headers["Authorization"] = f"Bearer {answer.json()['data']['accessToken']}"
            await people.prepare(http)
        living = [asyncio.create_task(people.live(number)) for number in range(PEOPLE)]
        try:
            assert await eventually_here(lambda: people.ended > 2 * PEOPLE, patience=60)
            dead = cluster.owner(LIST)
            with cluster.client(cluster.replicas_of[dead][0]) as replica:
                replica.config_set("cluster-replica-no-failover", "yes")
                await asyncio.to_thread(cluster.kill, dead)
                await asyncio.sleep(BOUND + 0.7)
                replica.config_set("cluster-replica-no-failover", "no")
            assert await asyncio.to_thread(eventually, cluster.is_whole)
            before = people.ended, people.let_in
            assert await eventually_here(
                lambda: people.ended > before[0] + PEOPLE and people.let_in > before[1] + 100, patience=120
            )
        finally:
            people.done = True
            await asyncio.gather(*living)
        assert people.wrong == []
        assert people.refused
        assert people.dropped, "no fault was felt"
