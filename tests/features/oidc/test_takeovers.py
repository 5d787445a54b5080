"""A sign-in with a provider ends what others did to an account, unless they could have linked it."""

from tests.features.oidc.conftest import Browser
from tests.features.oidc.hostile import HostileProvider
from tests.features.oidc.test_begun_links import begun, finished
from tests.support.inside import Inside
from tests.support.members import member
from tests.support.standing_behind import acted, edges

ACCOUNTS = "/api/auth/oidc/good/accounts"


async def test_a_sign_in_ends_what_others_did_and_not_what_who_linked_it_did(
    browser: Browser, front: Inside, provider: HostileProvider
) -> None:
    mira, zoe = [await member(front, f"{name}-{provider.subject}", "*") for name in ("mira", "zoe")]
    puppet = await member(front, f"puppet-{provider.subject}")
    heron = await member(front, f"heron-{provider.subject}")
    linked = await mira.ask("POST", ACCOUNTS, {"userName": heron.name, "subject": provider.subject})
    assert linked.status == 204, linked.body
    await acted(front, mira.user_id, puppet.user_id)
    await acted(front, puppet.user_id, heron.user_id)
    await acted(front, zoe.user_id, heron.user_id)

    await browser.sign_in()

    mine = {edge for edge in await edges(front) if edge[1] == heron.name}
    # Behind the puppet stands who linked it: the sign-in may be hers.
    assert mine == {(mira.name, heron.name, "hand_over"), (puppet.name, heron.name, "password")}


async def test_a_sign_in_by_which_an_account_was_made_ends_what_anybody_did(
    browser: Browser, front: Inside, provider: HostileProvider
) -> None:
    token = await browser.sign_in()
    user = (await front.ask("GET", "/api/user/info", token=token)).json["data"]
    zoe = await member(front, f"zoe-{provider.subject}")
    await acted(front, zoe.user_id, user["userId"])

    await browser.sign_in()

    assert not {edge for edge in await edges(front) if edge[1] == user["userName"]}


async def test_what_was_linked_while_somebody_stood_behind_the_account_ends_nothing_of_theirs(
    browser: Browser, front: Inside, provider: HostileProvider
) -> None:
    zoe = await member(front, f"zoe-{provider.subject}")
    heron = await member(front, f"heron-{provider.subject}")
    await acted(front, zoe.user_id, heron.user_id)
    answer = await finished(browser, await begun(front, browser, heron.token))
    assert answer.status == 200, answer.body

    await browser.sign_in()

    assert {edge for edge in await edges(front) if edge[1] == heron.name} == {
        (zoe.name, heron.name, "password")
    }
