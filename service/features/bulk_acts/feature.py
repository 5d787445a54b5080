"""The same act on many records at once."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="bulk_acts",
    title="Acts on many users, roles or resources at once",
    paths=("/api/user/bulk", "/api/role/bulk", "/api/resource/bulk"),
    routes="routes:add_routes",
)
