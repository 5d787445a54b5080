"""The routes of followers: what they follow, and who they are."""

from typing import Any

from service.features.follower.api_follow import Follow, Followers
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    hub = container.parts["follower"].hub
    routes.add("/access/v1/follow", Follow(hub))
    routes.add("/api/policy/followers", Followers(hub))
