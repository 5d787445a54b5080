"""A caller who asks again is decided as if it were for the first time."""

import random
from collections.abc import Hashable

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.kernel.assurance import AGES
from service.web.requests.admissions import MOST_ADMISSIONS, Admitted, LatestAdmissions
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from tests.web.driver import ask
from tests.web.example_service import example
from tests.web.test_guard import ENDPOINTS, OPENINGS, REVISION, NeverAsked, live_policy
from tests.web.test_random_demands import NOW, ROUTES, WORDS, Door, random_caller

QUESTIONS = 1_500
PATHS = (*ROUTES, "/api/thing/8")
TOKEN = ("X-Token", "t")


class Forgetful(LatestAdmissions):
    """Keeps no admission."""

    def keep(self, place: Hashable, admitted: Admitted) -> None:
        """Forget it."""


def policy_of(dice: random.Random, text: str, revision: int) -> Policy:
    """Return a policy that opens by some codes and makes random demands."""
    resource = [Rule("resource", "GET /api/thing/7", "thing:other")] * dice.randint(0, 1)
    names = ["resource @unregistered", "resource GET /api/thing/7"]
    names += [f"endpoint {route}" for route in (*ROUTES.values(), "POST /api/thing")]
    demands = [Rule("assurance", name, word) for name in names for word in dice.sample(WORDS, 2)]
    return Policy(text, [*OPENINGS, *ENDPOINTS, *resource, *demands], {}, revision)


async def test_a_repeated_request_is_decided_as_if_it_were_the_first() -> None:
    dice = random.Random(31)
    live, moment, seen = live_policy([]), NOW, set()
    door, kept = Door(), LatestAdmissions()
    apps = [
        example(
            AuthorizationGuard(
                HeaderToken("X-Token", ""),
                door,
                live,
                NeverAsked(),
                now=lambda: moment,
                admissions=admissions,
            )
        )[0]
        for admissions in (kept, Forgetful())
    ]
    for number in range(QUESTIONS):
        if number % 40 == 7:
            live.offer(policy_of(dice, live.current.model_text, REVISION + 1 + number))
        if number % 15 == 0:
            caller = door.caller = random_caller(dice).caller
            moment = NOW
        proof = caller.authentication
        ages = [0.0, *AGES.values()] if proof else [0.0]
        edges = [
            (proof.auth_time if proof else NOW) + age + dice.choice((-61, -60, -1, 0, 1)) for age in ages
        ]
        moment = dice.choice((moment, moment, *edges))
        method, path = dice.choice((*[("GET", path) for path in PATHS], ("POST", "/api/thing")))
        again, anew = [await ask(app, method, path, TOKEN) for app in apps]
        decided = [(answer.status, answer.header("x-policy-revision")) for answer in (again, anew)]
        assert decided[0] == decided[1], (method, path, caller, moment)
        seen.add((again.status, len(kept.by(live.current))))
    assert {status for status, _ in seen} > {200, 401, 403}
    assert max(number for _, number in seen) >= min(len(ROUTES), MOST_ADMISSIONS), (
        "admissions were remembered, and used"
    )
