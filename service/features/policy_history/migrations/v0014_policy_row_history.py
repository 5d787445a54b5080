"""The rows from which each revision of the policy was derived, so that one can be restored."""

from alembic import op

revision = "v0014"
down_revision = "v0013"

_LIFE = """
    since bigint NOT NULL,
    until bigint,
    CONSTRAINT {name}_until_check CHECK (until > since)
);
CREATE INDEX {name}_since_idx ON sys.{name} (since);
CREATE INDEX {name}_until_idx ON sys.{name} (until) WHERE until IS NOT NULL;
"""

_TABLES = {
    "resource_history": """
    resource_id bigint NOT NULL,
    resource_name text NOT NULL,
    resource_code text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    description text,
    enabled boolean NOT NULL,""",
    "button_history": """
    menu_id bigint NOT NULL,
    parent_id bigint,
    title text NOT NULL,
    name text,
    icon text,
    sort integer NOT NULL,
    auth_mark text NOT NULL,
    enabled boolean NOT NULL,""",
    "binding_history": """
    resource_id bigint NOT NULL,
    menu_id bigint NOT NULL,""",
}

# What is stored now is kept as the rows of the revision in force.
_NEWEST = "(SELECT max(revision) FROM sys.policy_revision)"
_PUBLISHED = "EXISTS (SELECT FROM sys.policy_revision)"
_BASELINE = f"""
INSERT INTO sys.resource_history
    (resource_id, resource_name, resource_code, method, path, description, enabled, since)
SELECT id, resource_name, resource_code, method, path, description, enabled, {_NEWEST}
FROM sys.resource WHERE {_PUBLISHED};
INSERT INTO sys.button_history (menu_id, parent_id, title, name, icon, sort, auth_mark, enabled, since)
SELECT id, parent_id, title, name, icon, sort, auth_mark, enabled, {_NEWEST}
FROM sys.menu WHERE menu_type = 'Button' AND {_PUBLISHED};
INSERT INTO sys.binding_history (resource_id, menu_id, since)
SELECT resource_id, menu_id, {_NEWEST} FROM sys.action_resource WHERE {_PUBLISHED};
UPDATE sys.policy_revision SET rows_kept = true WHERE revision = {_NEWEST};
"""  # noqa: S608 - of constants


def upgrade() -> None:
    op.execute("ALTER TABLE sys.policy_revision ADD COLUMN rows_kept boolean NOT NULL DEFAULT false")
    for name, columns in _TABLES.items():
        op.execute(
            f"CREATE TABLE sys.{name} (\n"
            f"    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT {name}_pkey PRIMARY KEY,"
            f"{columns}{_LIFE.format(name=name)}"
        )
    op.execute(_BASELINE)
