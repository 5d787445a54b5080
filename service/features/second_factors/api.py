"""The routes of second factors."""

from typing import Any

from service.features.directories.ways_in import ways_in_of
from service.features.second_factors import api_factors, api_second_step
from service.features.second_factors.factor_reset import FactorReset
from service.features.second_factors.logins import FactorLogins
from service.features.second_factors.own_factors import OwnFactors
from service.features.second_factors.parts import CheckedFactors
from service.features.second_factors.step_up import StepUp
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, sign_in = container.stores.database, container.sign_in
    changes, log = container.administration, container.trail.logins
    second: CheckedFactors = sign_in.second_factors
    logins, cookies = FactorLogins(sign_in.logins, second.step), sign_in.cookies
    step_up = StepUp(
        database=database,
        passwords=sign_in.passwords,
        challenges=second.challenges,
        check=second.check,
        throttle=sign_in.throttle,
        refresh=sign_in.refresh,
        log=log,
        closed=sign_in.closed_passwords,
    )
    own = OwnFactors(
        database=database,
        delegation=changes.delegation,
        challenges=second.challenges,
        keys=second.keys,
        party=second.party,
        notices=changes.notices,
        revocations=sign_in.revocations,
        ways_in=ways_in_of(container.settings, second),
        log=log,
        now=second.now,
    )
    reset = FactorReset(database, changes.delegation, sign_in.revocations, changes.notices, log)
    steps = api_second_step
    routes.serve(steps.LoginSecondFactor(logins, cookies))
    routes.serve(steps.LoginSecondFactorOptions(logins))
    routes.serve(steps.LoginPasskeyOptions(logins))
    routes.serve(steps.LoginPasskey(logins, cookies))
    routes.serve(steps.OwnStepUpOptions(step_up))
    routes.serve(steps.OwnStepUp(step_up, sign_in.refresh, cookies))
    routes.serve(api_factors.Factors(own))
    routes.serve(api_factors.OneFactor(own))
    routes.serve(api_factors.Apps(own))
    routes.serve(api_factors.AppConfirmation(own))
    routes.serve(api_factors.Passkeys(own))
    routes.serve(api_factors.PasskeyCreation(own))
    routes.serve(api_factors.OwnRecoveryCodes(own))
    routes.serve(api_factors.FactorsOfUser(reset))
    routes.serve_outside(api_factors.PasskeyEndpoints(container.settings.server.public_url))
