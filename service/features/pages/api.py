"""The routes of the pages, all of them outside the groups."""

from typing import Any

from service.features.pages.api_documents import add_docs
from service.features.pages.api_guide import add_guide
from service.features.pages.api_start import StartPage
from service.features.pages.links import is_built
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the start page, the documentation and the guide."""
    console = container.settings.console.enabled
    routes.serve_outside(StartPage(container.node.operator_token, guide=is_built(), console=console))
    add_docs(routes)
    add_guide(routes)
