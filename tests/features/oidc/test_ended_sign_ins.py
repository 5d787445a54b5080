"""What ends a sign-in with a provider also reaches one that has opened no session yet."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.features.oidc import store
from service.keyspace import SessionStore
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.features.oidc.test_cut_off import cut_off
from tests.features.oidc.test_second_factor import linked
from tests.features.oidc.test_sign_in import log_out
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.web.driver import Answer

DIRECTORY: Final = "/api/directory/good"
BODY: Final = {"kind": "oidc", "mapping": [], "ceiling": []}


@pytest.fixture(scope="module")
async def place(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[Inside]:
    chosen = SETTINGS | variables(provider_settings(running_provider, "good"))
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


@pytest.fixture
async def browser(place: Inside, provider: HostileProvider) -> AsyncIterator[Browser]:
    yield Browser(place, provider)
    await place.ask("DELETE", DIRECTORY)


async def waiting(browser: Browser) -> tuple[Person, str]:
    """Return somebody who has signed in, and is asked for a second factor; and the challenge."""
    person = await linked(browser)
    answer = await browser.redeem(await browser.code())
    assert answer.code == "second_factor_required"
    return person, answer.json["challenge"]


async def second_step(person: Person, challenge: str) -> Answer:
    return await person.second_step(challenge, "totp", code=person.code())


async def sessions_of(browser: Browser, name: str) -> int:
    page = await browser.service.data("GET", f"/api/online/list?userName={name}")
    count: int = page["total"]
    return count


async def by_logout(browser: Browser, _person: Person) -> None:
    assert (await log_out(browser.service, browser.provider.logout_token())).status == 200


async def by_the_owner(_browser: Browser, person: Person) -> None:
    await person.step_up()
    answer = await person.ask("DELETE", "/api/user/profile/origins/good")
    assert answer.status == 200, answer.body


async def by_an_administrator(browser: Browser, person: Person) -> None:
    answer = await browser.service.ask("DELETE", f"/api/user/{person.id}/origins/good")
    assert answer.status == 200, answer.body


async def by_the_command(browser: Browser, _person: Person) -> None:
    await browser.service.data("PUT", DIRECTORY, BODY)
    status, output = await cut_off(browser.service, "good")
    assert status == 0, output
    # Which lets people sign in anew, and opens nothing that was begun before.
    assert (await browser.service.ask("DELETE", DIRECTORY)).status == 200


async def by_an_edit(browser: Browser, _person: Person) -> None:
    await browser.service.data("PUT", DIRECTORY, BODY | {"enabled": False})


Ending = Callable[[Browser, Person], Awaitable[None]]


@pytest.mark.parametrize(
    "end",
    [by_logout, by_the_owner, by_an_administrator, by_the_command, by_an_edit],
    ids=lambda end: end.__name__,
)
async def test_a_second_step_opens_nothing_once_its_sign_in_has_ended(browser: Browser, end: Ending) -> None:
    person, challenge = await waiting(browser)
    await end(browser, person)
    assert (await second_step(person, challenge)).code == "login_failed"


async def test_a_second_step_opens_a_session_while_its_sign_in_lasts(browser: Browser) -> None:
    person, challenge = await waiting(browser)
    # Another one on the device ends nothing.
    assert (await browser.redeem(await browser.code())).code == "second_factor_required"
    assert (await second_step(person, challenge)).status == 200


@pytest.mark.parametrize("when", ["before", "after"])
async def test_no_session_stays_that_opens_while_its_sign_in_ends(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    await browser.sign_in()  # there is an account
    name = f"u-{browser.provider.subject}"
    code, order = await browser.code(), browser.provider.logout_token()
    opening = SessionStore.open_session

    async def open_session(store: SessionStore, *words: Any, **options: Any) -> Any:
        if when == "before":
            assert (await log_out(browser.service, order)).status == 200
        opened = await opening(store, *words, **options)
        if when == "after":
            assert (await log_out(browser.service, order)).status == 200
        return opened

    monkeypatch.setattr(SessionStore, "open_session", open_session)
    assert (await browser.redeem(code)).code == "sign_in_failed"
    assert await sessions_of(browser, name) == 0


@pytest.mark.parametrize("groups", [None, ["Readers"]])
@pytest.mark.parametrize("end", [by_an_administrator, by_an_edit], ids=lambda end: end.__name__)
async def test_what_a_sign_in_has_read_is_read_again_where_it_is_stored(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, end: Ending, groups: list[str] | None
) -> None:
    person = await linked(browser)
    browser.provider.changes = {"groups": groups, "acr": "strong"}
    read, ended = store.origin, False

    async def origin(*words: Any) -> Any:
        nonlocal ended
        stored = await read(*words)
        if not ended:
            ended = True
            await end(browser, person)
        return stored

    code = await browser.code()
    monkeypatch.setattr(store, "origin", origin)
    answer = await browser.redeem(code)
    if groups is not None and end is by_an_administrator:
        # Nobody is known as the subject any more: it is another account that is made.
        assert await sessions_of(browser, f"u-{browser.provider.subject}") == 1
    else:
        assert answer.code == "sign_in_failed"
    assert await sessions_of(browser, person.name) == 1  # that by the password


async def test_a_logout_that_was_answered_503_is_done_when_it_is_sent_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await browser.sign_in()
    order = browser.provider.logout_token()

    async def away(*_: Any, **_options: Any) -> bool:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(SessionStore, "close_session", away)
        assert (await log_out(browser.service, order)).status == 503
    assert (await browser.service.ask("GET", "/api/user/info", token=token)).status == 200
    assert (await log_out(browser.service, order)).status == 200
    assert (await browser.service.ask("GET", "/api/user/info", token=token)).status == 401
    assert (await log_out(browser.service, order)).status == 400
