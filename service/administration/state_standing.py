"""Who may do what in a state, without anything being stored."""

from __future__ import annotations

from collections.abc import Mapping

from service.administration.state import State
from service.authz.engine.policy import Policy
from service.authz.engine.rules import UNREGISTERED
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.authz.review.impact import Roles, Standing
from service.kernel.assurance import words_of
from service.kernel.services import BoundResource, PublishedOpening, object_of, split_object
from service.records.services import router_of


def standing(state: State, shipped: Shipped, users: Mapping[Roles, int]) -> Standing:
    """Return who may do what with the policy that would be published for ``state``.

    ``users`` counts the enabled users by their roles. Raises PolicyError if no policy can be built.
    """
    enabled = {code for code, button in state.buttons.items() if button.enabled}
    codes = {
        key: tuple(code for code in role.buttons if code in enabled) if role.enabled else ()
        for key, role in state.roles.items()
    }
    return Standing(policy_of(state, shipped), codes, users)


def policy_of(state: State, shipped: Shipped) -> Policy:
    """Return the policy that would be published for ``state``, as revision 1; PolicyError for none."""
    registered = []
    openings = [
        PublishedOpening(object_of(name, UNREGISTERED), service_state.opened)
        for name, service_state in state.services.items()
        if service_state.opened is not None
    ]
    for key, resource in state.resources.items():
        if resource.enabled:
            service, route = split_object(key)
            method, _, path = route.partition(" ")
            bound = tuple((code, state.buttons[code].enabled) for code in resource.buttons)
            demand = words_of(resource.assurance, services=resource.services)
            registered.append(BoundResource(method, path, bound, service, demand))
            if resource.opened is not None:
                openings.append(PublishedOpening(key, resource.opened))
    # Bit positions only matter for tokens.
    disabled = {code for code, button in state.buttons.items() if not button.enabled}
    services = [router_of(name, values) for name, values in state.services.items()]
    shared = derive(registered, state.buttons, disabled=disabled, services=services, openings=openings)
    return shipped.policy(shared, {}, 1)
