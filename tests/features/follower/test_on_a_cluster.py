"""A hub whose session store is a cluster is followed as one with one server is."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from service.errors import Unavailable
from service.features.cluster.client import Cluster
from service.features.follower.parts import samples_of_followers
from service.kernel.coded_sentences import Sentence
from service.keyspace.keys import ClusterNames
from service.keyspace.scripts import Revoked
from tests.features.follower.conftest import House, log_in, may, waiting_hub
from tests.features.follower.test_tokens import WAYS, asked, end, hub_reason, refused
from tests.support.cases import with_each
from tests.support.valkey_cluster import ValkeyCluster
from tests.support.waiting import eventually_here

SOME = ("logout", "role", "evicted")
"""Ways that are announced, read with the rights of a user, or noticed by what is lacking."""
LISTS = [ClusterNames().of("auth:revocations", tag) for tag in ClusterNames().queues]


async def user_with_token(house: House, name: str) -> tuple[int, str]:
    role = await house.role(name, house.buttons["orders:order:read"])
    return await house.user(name, role), await log_in(house.hub, name)


@with_each("how", SOME)
async def test_a_token_that_was_ended_is_refused_as_by_the_hub(house_on_a_cluster: House, how: str) -> None:
    await end(house_on_a_cluster, how)


@pytest.mark.extended
@with_each("how", WAYS)
async def test_a_token_that_was_ended_in_any_way_is_refused_as_by_the_hub(
    house_on_a_cluster: House, how: str
) -> None:
    await end(house_on_a_cluster, how)


async def test_a_logout_that_could_not_be_told_is_not_answered_as_done_and_can_be_repeated(
    house_on_a_cluster: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_on_a_cluster
    _, token = await user_with_token(house, "untold")
    log_out = partial(house.hub.ask, "POST", "/api/auth/logout", token=token)

    async def refuse(_cluster: Cluster, _key: str, _revoked: Sequence[Revoked]) -> None:
        raise Unavailable(Sentence("The list is out of reach"))

    async with house.following() as follower:
        with monkeypatch.context() as patch:
            patch.setattr(Cluster, "revoke", refuse)
            assert (await log_out()).status == 503
        await follower.renew()
        assert await hub_reason(house, token) == "opened"
        assert follower.point.evaluate(asked(token)).allowed
        assert (await log_out()).status == 200
        await refused(follower.point, token)


async def test_a_logout_that_broke_off_after_it_was_told_can_be_repeated(
    house_on_a_cluster: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower refuses the token at once, and the hub once it is repeated."""
    house = house_on_a_cluster
    _, token = await user_with_token(house, "revoked")
    log_out = partial(house.hub.ask, "POST", "/api/auth/logout", token=token)
    revoke = Cluster.revoke

    async def break_off(cluster: Cluster, key: str, revoked: Sequence[Revoked]) -> None:
        await revoke(cluster, key, revoked)
        raise Unavailable(Sentence("As if the process had been killed"))

    async with house.following() as follower:
        with monkeypatch.context() as patch:
            patch.setattr(Cluster, "revoke", break_off)
            assert (await log_out()).status == 503
        await refused(follower.point, token)
        assert await hub_reason(house, token) == "opened"
        assert (await log_out()).status == 200
        assert await hub_reason(house, token) == "subject_not_active"
        assert follower.point.evaluate(asked(await log_in(house.hub, "revoked"))).allowed


@pytest.mark.extended
async def test_who_follows_is_shown_counted_and_waited_for(house_on_a_cluster: House) -> None:
    house = house_on_a_cluster
    role = await house.role("awaited", house.buttons["orders:order:read"])
    user = await house.user("otto")
    async with waiting_hub(house, 4.0) as hub, house.following(name="shown") as follower:
        answer = await house.hub.ask("PATCH", f"/api/user/{user}", {"roleIds": [role]})
        assert await hub.followed(follower.revision, int(answer.header("portcullis-rights") or 0))
        assert may(follower.point, "otto")
        listed = await house.data("GET", "/api/policy/followers")
        assert "shown" in [each["name"] for each in listed["followers"]]
        samples = list(samples_of_followers(await hub.followers(), hub.now()))
        assert ("portcullis_followers", 1) in [(each.name, each.value) for each in samples]
        assert not await hub.followed(0, 10**9)


async def test_after_a_list_was_lost_tokens_from_before_are_refused_and_new_ones_are_followed(
    house_on_a_cluster: House, valkey_cluster: ValkeyCluster
) -> None:
    house = house_on_a_cluster
    _, token = await user_with_token(house, "lost")
    async with house.following() as follower:
        assert follower.point.evaluate(asked(token)).allowed
        with valkey_cluster.client_of_all() as client:
            client.delete(LISTS[5])
        await refused(follower.point, token)
        assert follower.point.lease.holds()
        new: list[str] = []

        async def logged_in_anew() -> bool:
            new.append(await log_in(house.hub, "lost"))
            await asyncio.sleep(0.2)  # tokens from the first second of the list are refused too
            return follower.point.evaluate(asked(new[-1])).allowed

        async with asyncio.timeout(30):
            while not await logged_in_anew():
                pass
        assert (await house.hub.ask("POST", "/api/auth/logout", token=new[-1])).status == 200
        await refused(follower.point, new[-1])


async def test_while_a_part_has_no_primary_a_follower_denies_and_then_it_heals(
    house_on_a_cluster: House, valkey_cluster: ValkeyCluster
) -> None:
    """The last test of the module: it kills a server."""
    house = house_on_a_cluster
    dead = valkey_cluster.owner(LISTS[0])
    (replica,) = valkey_cluster.replicas_of[dead]
    names = iter(range(1, 10_000))
    while True:  # a user whose own server stays
        user, token = await user_with_token(house, f"part-{next(names)}")
        if valkey_cluster.owner(str(user)) != dead:
            break
    async with house.following() as follower:
        point = follower.point
        assert point.evaluate(asked(token)).allowed
        with valkey_cluster.client(replica) as client:
            client.config_set("cluster-replica-no-failover", "yes")
        valkey_cluster.kill(dead)
        assert await eventually_here(lambda: point.evaluate(asked(token)).reason == "stale", patience=30)
        log_out = partial(house.hub.ask, "POST", "/api/auth/logout", token=token)
        assert (await log_out()).status == 200
        with valkey_cluster.client(replica) as client:
            client.config_set("cluster-replica-no-failover", "no")
        assert await eventually_here(point.lease.holds, patience=60)
        assert point.evaluate(asked(token)).reason == "subject_not_active"
        assert await hub_reason(house, token) == "subject_not_active"
