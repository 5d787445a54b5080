"""Declaration of the feature: reading the operation log and the login log."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="log_reading",
    title="Lists and exports of the operation log and the login log",
    paths=("/api/operation-log", "/api/login-log", "/api/user/profile/login-logs"),
    tags={
        "login-log": "Logins and other events of sessions.",
        "operation-log": "Calls of the service and their changes.",
    },
    enumerations={"LogSort": "createTime -createTime"},
    sentences="sentences:sentence",
    routes="api:add_routes",
)
