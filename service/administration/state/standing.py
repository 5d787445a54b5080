"""Who may do what in a state, without anything being stored."""

from __future__ import annotations

from collections.abc import Mapping

from service.administration.state.state import State
from service.authz.engine.policy import Policy
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.authz.review.impact import Roles, Standing
from service.kernel.bound_resource import BoundResource


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
    for key, resource in state.resources.items():
        if resource.enabled:
            method, _, path = key.partition(" ")
            bound = tuple((code, state.buttons[code].enabled) for code in resource.buttons)
            registered.append(BoundResource(method, path, bound))
    # Bit positions only matter for tokens.
    disabled = {code for code, button in state.buttons.items() if not button.enabled}
    return shipped.policy(derive(registered, state.buttons, disabled=disabled), {}, 1)
