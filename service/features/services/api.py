"""The routes about other services, and those that their accounts ask for tokens."""

from typing import Any

from service.administration.changes import Changes
from service.features.services import api_oauth, api_services
from service.features.services.edits import OPENINGS, SERVICES
from service.features.services.oauth import ClientCredentials, Introspection
from service.features.services.token_exchange import token_exchange_of
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, live = container.stores.database, container.policy.live
    units = container.administration.units
    service = database, live, Changes(units, SERVICES)
    opening = database, live, Changes(units, OPENINGS)
    routes.serve(api_services.ServiceList(*service))
    routes.serve(api_services.Services(*service))
    routes.serve(api_services.OneService(*service))
    routes.serve(api_services.OpeningList(*opening))
    routes.serve(api_services.Openings(*opening))
    routes.serve(api_services.OneOpening(*opening))
    sign_in, auth = container.sign_in, container.settings.auth
    off, lasts = container.settings.features.off, auth.client_timeout
    delegated = token_exchange_of(sign_in.agent_callers, sign_in.tokens, lasts, off)
    exchange = ClientCredentials(sign_in.key_callers, sign_in.tokens, lasts, delegated)
    routes.serve(api_oauth.Token(exchange))
    routes.serve(api_oauth.Introspect(Introspection(auth, sign_in.authenticator)))
