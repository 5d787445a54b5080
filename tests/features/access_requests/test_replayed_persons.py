"""What was decided about accounts that count as one person is decided alike when its log is replayed."""

import json
from pathlib import Path

import pytest

from service.audit.seals import seals_of
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.features.policy_tests.replay import replay
from service.records.database.transactions import Database
from tests.features.access_requests.test_beginnings import settings_of
from tests.features.access_requests.test_requests import asked, decide, ruled
from tests.features.reviews.test_reviews import DECIDES, items, started
from tests.features.reviews.test_reviews import decide as decide_item
from tests.features.reviews.test_sign_offs import newest, sign
from tests.support.databases import NewDatabase
from tests.support.inside import all_decisions, inside_published
from tests.support.members import member
from tests.support.standing_behind import acted

pytestmark = pytest.mark.feature("reviews")


async def test_refusals_of_the_same_person_and_what_others_decided_replay_alike(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.log"
    url = new_database(published_template)
    async with inside_published(url, redis_url, **all_decisions(log)) as house:
        await ruled(house)
        codes = ("system:user:list", "system:policy:sign-off", *DECIDES)
        heron, kestrel, crane = [
            await member(house, name, *codes) for name in ("heron-1", "kestrel", "crane")
        ]
        await acted(house, heron.user_id, kestrel.user_id)
        await acted(house, 1, kestrel.user_id)
        request, review = await asked(heron), await started(house, heron)
        (item,) = await items(house, review)
        statuses = [
            ((await decide(each, request)).status, (await decide_item(each, review, item, "keep")).status)
            for each in (kestrel, crane)
        ]
        signed = [await sign(each, await newest(house)) for each in (kestrel, crane)]
        async with Database(house.database_url) as opened:
            settings = settings_of(house)
            live = LivePolicy(configured(settings), seals_of(settings.oplog))
            await live.load(opened)
    lines = log.read_bytes().splitlines()

    assert statuses == [(403, 403), (200, 200)]
    assert signed == [403, 200]
    answer = replay(live.current, lines)
    assert (answer.differing, answer.unreadable) == (0, 0), answer.groups
    refusals = [event for line in lines if (event := json.loads(line))["outcome"] == "deny"]
    objects = {event["object"] for event in refusals}
    assert {"role heron stage 1 for self", "assignment for self", "sign-off for self"} <= objects
