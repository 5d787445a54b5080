"""Without decisions for others no question is answered, and no proxy is told to let a request pass."""

import pytest

from service.settings import SettingsError, load
from tests.features.decisions.conftest import EVALUATION, EVALUATIONS
from tests.features.decisions.test_whole_service import set_up
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published

OFF = {"PORTCULLIS_FEATURES__OFF": "decisions,follower"}
QUESTION = {
    "subject": {"type": "user", "id": "admin"},
    "action": {"name": "GET"},
    "resource": {"type": "route", "id": "/api/role/list"},
}
ORIGINAL = (("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/orders/7"), ("X-Forwarded-Host", "orders"))


async def test_nothing_is_decided_for_others_while_it_is_off_and_all_of_it_again_when_it_is_on(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    async with inside_published(url, redis_url) as service:
        key, _ = await set_up(service)
        proxy = ("X-Portcullis-Key", key)
        before = await service.as_anonymous("GET", "/access/v1/forward/caddy/orders", proxy, *ORIGINAL)
        assert (await service.ask("POST", EVALUATION, QUESTION)).json["decision"] is True
    async with inside_published(url, redis_url, **OFF) as service:
        for method, path in (
            ("POST", EVALUATION),
            ("POST", EVALUATIONS),
            ("POST", "/access/v1/search/subject"),
            ("GET", "/.well-known/authzen-configuration"),
        ):
            answer = await service.ask(method, path, QUESTION if method == "POST" else None)
            assert (answer.status, answer.json["code"]) == (404, "not_found"), path
        for kind in ("caddy", "traefik", "nginx", "envoy"):
            path = f"/access/v1/forward/{kind}/orders"
            answer = await service.as_anonymous("GET", path, proxy, *ORIGINAL)
            assert answer.status == 404
            assert not [name for name, _ in answer.headers if name.lower().startswith("x-portcullis")]
    async with inside_published(url, redis_url) as service:
        after = await service.as_anonymous("GET", "/access/v1/forward/caddy/orders", proxy, *ORIGINAL)
        assert after.status == before.status != 404
        assert (await service.ask("POST", EVALUATION, QUESTION)).json["decision"] is True


def test_it_can_not_be_off_while_followers_need_it() -> None:
    with pytest.raises(SettingsError, match="'decisions' can't be off while 'follower'"):
        load({"PORTCULLIS_FEATURES__OFF": "decisions"})
