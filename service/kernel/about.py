"""State the purpose, audience and limits of this service, for the start page and the banner."""

from typing import Final

NAME: Final = "Portcullis"

DISTRIBUTION: Final = "portcullis-admin"
"""The name under which it is installed. ``portcullis`` on the Python Package Index is a package of others."""

ROLE: Final = (
    "The administration back end of an application: login, users, roles, menus, API resources and logs."
)
AUDIENCE: Final = "For its staff and administrators, and for front ends and services that act for them."
LIMITS: Final = (
    "No identity provider: no sign-up, and nobody signs in to other applications by it",
    "No row-level data scopes: it decides who may call which operation, not whose records an answer holds",
    "No proxy: it guards its own API; other services verify its tokens and decide for themselves",
)
"""The limits of the service, one sentence each."""
