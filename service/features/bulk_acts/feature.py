"""The same operation on many records."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="bulk_acts",
    title="Acts on many users, roles or resources at once",
    paths=("/api/user/bulk", "/api/role/bulk", "/api/resource/bulk"),
    enumerations={"RoleAction": "give take"},
    routes="routes:add_routes",
)
