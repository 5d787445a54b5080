"""Routes of followers: their data, and their list."""

from typing import Any

from service.features.follower.api_follow import Follow, Followers
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of followers."""
    hub = container.parts["follower"].hub
    routes.serve(Follow(hub))
    routes.serve(Followers(hub))
