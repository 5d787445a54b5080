"""The same operation on many records."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="bulk_acts",
    title="Bulk changes of users, roles and resources",
    paths=("/api/user/bulk", "/api/role/bulk", "/api/resource/bulk"),
    enumerations={"RoleAction": "give take"},
    sentences="sentences:sentence",
    routes="routes:add_routes",
)
