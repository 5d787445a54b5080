"""The routes of the console, outside the groups."""

from typing import Any

from service import __version__
from service.features.console.console import add_console
from service.kernel.feature import provided
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the page of the console and its files, or refusals where it is switched off."""
    settings, cookies = container.settings, container.sign_in.cookies
    about = {"version": __version__, "session": "browser" if cookies.on else "tab"}
    for facts_of in provided("console-facts", settings.features.off).values():
        about |= facts_of(settings)
    if container.mailer.enabled:
        about["mail"] = "sent"
    token = settings.auth.token_name, settings.auth.token_prefix
    add_console(routes, enabled=settings.console.enabled, token=token, about=about)
