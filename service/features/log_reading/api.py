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
    routes.serve(operations.OperationList(logs))
    routes.serve(operations.OperationExport(logs))
    routes.serve(operations.ChangesOfOperations(stores.database))
    routes.serve(operations.OneOperation(stores.database))
    routes.serve(logins.LoginList(logs))
    routes.serve(logins.LoginExport(logs))
    routes.serve(logins.OwnLogins(logs))
