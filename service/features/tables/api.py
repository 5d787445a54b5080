"""Routes of the import and export of tables."""

from typing import Any

from service.features.tables import api_tables
from service.features.tables.role_import import RoleImport
from service.features.tables.user_import import UserImport
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, changes = container.stores.database, container.administration
    sign_in = container.sign_in
    shared = database, changes.delegation, sign_in.revocations
    users = UserImport(
        *shared,
        sign_in.passwords,
        sign_in.password_rules,
        address_changed=changes.address_changed,
        notices=changes.notices,
    )
    routes.serve(api_tables.UserExport(database))
    routes.serve(api_tables.UserTableImport(users))
    routes.serve(api_tables.RoleExport(database))
    routes.serve(api_tables.RoleTableImport(RoleImport(*shared)))
