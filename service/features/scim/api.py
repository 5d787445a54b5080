"""Routes of provisioning: ``/scim/v2``, and the handover of accounts to a directory."""

from typing import Any

from service.features.directories.parts import directories_of
from service.features.scim import api_discovery, api_groups, api_users
from service.features.scim.adoptions import Adoptions
from service.features.scim.api_adoption import AccountsOfDirectory
from service.features.scim.groups import ScimGroups
from service.features.scim.users import ScimUsers
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, changes = container.stores.database, container.administration
    directories = directories_of(container)
    public_url = container.settings.server.public_url
    users = ScimUsers(database, changes.units, changes.accounts, directories)
    groups = ScimGroups(database, changes.units, directories)
    user, group = (database, users, public_url), (database, groups, public_url)
    routes.serve_all(api_discovery, public_url)
    routes.serve(api_groups.SearchInScim(*group))
    routes.serve_all(api_users, *user)
    routes.serve(api_groups.ListOfScimGroups(*group))
    routes.serve(api_groups.SearchForScimGroups(*group))
    routes.serve(api_groups.OneScimGroup(*group))
    adoptions = Adoptions(changes.units, changes.notices)
    routes.serve(AccountsOfDirectory(adoptions))
