"""Routes of provider sign-in: ``/api/auth/oidc``."""

from typing import Any

from service.features.oidc import api_links, api_logout, api_sign_in
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints with the parts of ``container``."""
    part, cookies = container.parts["oidc"], container.sign_in.cookies
    signing = part.sign_in, cookies
    routes.serve(api_sign_in.ProviderList(part.sign_in))
    routes.serve(api_sign_in.SignInStart(*signing))
    routes.serve(api_sign_in.SignInCallback(*signing))
    routes.serve(api_sign_in.SignInToken(*signing))
    routes.serve(api_links.AccountLink(*signing))
    routes.serve(api_links.StepUpAtProvider(*signing))
    routes.serve(api_links.AccountHandover(part.handover))
    routes.serve(api_logout.BackChannelLogout(part.logout))
    here = container.sign_in.sessions, cookies, container.settings.server.public_url
    routes.serve(api_logout.LogoutAtProvider(part.logout, *here))
