"""Routes of the logs."""

from typing import Any

from service.features.log_reading import api_logins as logins
from service.features.log_reading import api_operations as operations
from service.features.log_reading.store_paging import LogReader
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints; half of the worker's connections may read logs at once."""
    stores = container.stores
    logs = LogReader(stores.log_snapshots, at_once=max(1, container.settings.database.pool_size // 2))
    routes.add("/api/operation-log/list", operations.OperationList(logs))
    routes.add("/api/operation-log/export", operations.OperationExport(logs))
    routes.add("/api/operation-log/changes", operations.ChangesOfOperations(stores.database))
    routes.add("/api/operation-log/{id}", operations.OneOperation(stores.database))
    routes.add("/api/login-log/list", logins.LoginList(logs))
    routes.add("/api/login-log/export", logins.LoginExport(logs))
    routes.add("/api/user/profile/login-logs", logins.OwnLogins(logs))
