"""Whatever administrators register, bind and demand, a shipped demand stays as it is."""

import random
from typing import get_args

import pytest

from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, PolicyError, Rule, assured
from service.authz.publishing.demand_table import LEVELS
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import read_shipped
from service.kernel.account_acts import DEMANDED
from service.kernel.assurance import Demand, words_of
from service.kernel.services import BoundResource, Service
from service.laboratory.analysis.demands import demands_on, meeting
from service.laboratory.proof.batch_decider import all_requests
from service.settings.sections.policy import Demands
from tests.support.cases import with_each

SERVICES = ("orders", "endpoint", "account", "assurance")


def some_resources(dice: random.Random, routes: list[str]) -> list[BoundResource]:
    """Register some routes, and paths of other services that look like them."""
    chosen = dice.sample(routes, 20)
    demands = (None, *get_args(Demand))
    return [
        BoundResource(
            route.partition(" ")[0],
            route.partition(" ")[2],
            [("system:user:list", True)] * dice.randint(0, 1),
            dice.choice(("portcullis", *SERVICES)),
            words_of(dice.choice(demands), services=dice.random() < 0.5),
        )
        for route in chosen
    ]


@with_each("name", LEVELS)
@with_each("seed", range(4))
def test_no_edit_of_an_administrator_lowers_a_shipped_demand(name: Demands, seed: int) -> None:
    dice = random.Random(seed)
    shipped = read_shipped(assurance=name)
    routes = sorted({rule.object for rule in shipped.endpoints if rule.layer == ENDPOINT})
    stored = derive(some_resources(dice, routes), [], services=[Service(each) for each in SERVICES])
    policy = shipped.policy(stored, {}, 1)

    objects = [assured(ENDPOINT, route) for route in routes] + [assured(ACCOUNT, act) for act in DEMANDED]
    for demand in objects:
        own = tuple(rule.code for rule in shipped.assurance if rule.object == demand)
        assert {*policy.rules.codes(ASSURANCE, demand)} == {*own}
    for request in all_requests(policy):
        if not request.is_external:
            shipped_demand = policy.rules.codes(ASSURANCE, assured(ENDPOINT, request.route))
            assert meeting(policy.model_text, demands_on(policy, request)) <= meeting(
                policy.model_text, (shipped_demand,)
            )


@pytest.mark.parametrize(
    "demand",
    ["endpoint DELETE /api/user/{id}", "account change-factors self", "resource @unregistered"],
)
def test_a_published_line_about_a_shipped_demand_is_refused(demand: str) -> None:
    stored = derive([]).changed({(ASSURANCE, demand): ("@anyone",)})
    with pytest.raises(PolicyError):
        read_shipped(assurance="everybody").policy(stored, {}, 1)
    assert Rule(ASSURANCE, demand, "@anyone") in stored
