"""Routes of provider sign-in: ``/api/auth/oidc``."""

from typing import Any

from service.features.oidc import api_links, api_logout, api_sign_in
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints with the parts of ``container``."""
    part, cookies = container.parts["oidc"], container.sign_in.cookies
    signing = part.sign_in, cookies
    routes.add("/api/auth/oidc", api_sign_in.ProviderList(part.sign_in))
    routes.add("/api/auth/oidc/{provider}/start", api_sign_in.SignInStart(*signing))
    routes.add("/api/auth/oidc/{provider}/callback", api_sign_in.SignInCallback(*signing))
    routes.add("/api/auth/oidc/token", api_sign_in.SignInToken(*signing))
    routes.add("/api/auth/oidc/{provider}/link", api_links.AccountLink(*signing))
    routes.add("/api/auth/oidc/{provider}/step-up", api_links.StepUpAtProvider(*signing))
    routes.add("/api/auth/oidc/{provider}/accounts", api_links.AccountHandover(part.handover))
    routes.add("/api/auth/oidc/{provider}/backchannel-logout", api_logout.BackChannelLogout(part.logout))
    here = container.sign_in.sessions, cookies, container.settings.server.public_url
    routes.add("/api/auth/oidc/logout", api_logout.LogoutAtProvider(part.logout, *here))
