"""Guards ``PATCH`` of users, roles, menus and resources as administrators have guarded ``PUT`` of the same.

A resource that narrows who may replace a record would otherwise leave the new way to change it to the
endpoint layer alone.
"""

from alembic import op

revision = "v0019"
down_revision = "v0018"

GUARD = r"""
WITH made AS (
    INSERT INTO sys.resource (resource_name, resource_code, method, path, description, enabled)
    SELECT left(resource_name, 120) || ' (PATCH)', left(resource_code, 40) || '.patch-' || id, 'PATCH', path,
        description, enabled
    FROM sys.resource
    WHERE service = 'portcullis' AND method = 'PUT' AND path <> '/api/user/profile'
        AND path ~ '^/(api|[{][^/]*[}])/(user|role|menu|resource|[{][^/]*[}])/[^/]+$'
    ON CONFLICT DO NOTHING
    RETURNING id, path
)
INSERT INTO sys.action_resource (resource_id, menu_id)
SELECT made.id, bound.menu_id
FROM made
JOIN sys.resource AS put ON put.service = 'portcullis' AND put.method = 'PUT' AND put.path = made.path
JOIN sys.action_resource AS bound ON bound.resource_id = put.id
"""


def upgrade() -> None:
    op.execute(GUARD)
