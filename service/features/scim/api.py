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
    routes.add("/scim/v2/ServiceProviderConfig", api_discovery.ServiceProviderConfig(public_url))
    routes.add("/scim/v2/Schemas", api_discovery.ListOfSchemas(public_url))
    routes.add("/scim/v2/Schemas/{uri}", api_discovery.OneSchema(public_url))
    routes.add("/scim/v2/ResourceTypes", api_discovery.ListOfResourceTypes(public_url))
    routes.add("/scim/v2/ResourceTypes/{name}", api_discovery.OneResourceType(public_url))
    routes.add("/scim/v2/.search", api_groups.SearchInScim(*group))
    routes.add("/scim/v2/Users", api_users.ListOfScimUsers(*user))
    routes.add("/scim/v2/Users/.search", api_users.SearchForScimUsers(*user))
    routes.add("/scim/v2/Users/{id}", api_users.OneScimUser(*user))
    routes.add("/scim/v2/Groups", api_groups.ListOfScimGroups(*group))
    routes.add("/scim/v2/Groups/.search", api_groups.SearchForScimGroups(*group))
    routes.add("/scim/v2/Groups/{id}", api_groups.OneScimGroup(*group))
    adoptions = Adoptions(changes.units, changes.notices)
    routes.add("/api/directory/{source}/accounts", AccountsOfDirectory(adoptions))
