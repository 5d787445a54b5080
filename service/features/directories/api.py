"""Routes of directories, and of the links between users and directories."""

from typing import Any

from service.features.directories import api_directories, api_origins
from service.features.directories.origins import SignInOrigins
from service.features.directories.parts import directories_of
from service.features.directories.ways_in import ways_in_of
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of directories."""
    stores, changes = container.stores, container.administration
    directories = directories_of(container)
    origins = SignInOrigins(
        ways_in=ways_in_of(container.settings, container.sign_in.second_factors),
        database=stores.database,
        store=stores.sessions,
        units=changes.units,
        directories=directories,
        notices=changes.notices,
        log=container.trail.logins,
    )
    routes.serve_all(api_origins, origins)
    routes.serve_all(api_directories, stores.database, directories)
