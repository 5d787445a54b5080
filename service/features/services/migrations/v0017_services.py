"""Resources of other services, and what is open there."""

from alembic import op

revision = "v0017"
down_revision = "v0016"

_SERVICES = r"""
CREATE TABLE sys.service (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT service_pkey PRIMARY KEY,
    name text NOT NULL CONSTRAINT service_name_key UNIQUE
        CONSTRAINT service_name_check
        CHECK (name ~ '^[a-z][a-z0-9-]*$' AND char_length(name) <= 32 AND name <> 'portcullis'),
    description text,
    ignore_case boolean NOT NULL DEFAULT false,
    ignore_trailing_slash boolean NOT NULL DEFAULT false,
    allow_preflight boolean NOT NULL DEFAULT false,
    version integer NOT NULL DEFAULT 1 CONSTRAINT service_version_check CHECK (version > 0),
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE sys.resource
    ADD COLUMN service text NOT NULL DEFAULT 'portcullis',
    ADD COLUMN other_service text GENERATED ALWAYS AS (NULLIF(service, 'portcullis'::text)) STORED
        CONSTRAINT resource_other_service_fkey REFERENCES sys.service (name) ON DELETE RESTRICT,
    DROP CONSTRAINT resource_method_shape_key,
    ADD CONSTRAINT resource_service_method_shape_key UNIQUE (service, method, shape),
    DROP CONSTRAINT resource_path_check,
    ADD CONSTRAINT resource_path_check CHECK (
        path ~ '^/$|^(/([A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\}))+/?$' AND path !~ '/\.{1,2}(/|$)'
        AND (service <> 'portcullis' OR path !~ './$')
    );
CREATE INDEX resource_other_service_idx ON sys.resource (other_service);

CREATE TABLE sys.opening (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT opening_pkey PRIMARY KEY,
    service text CONSTRAINT opening_service_key UNIQUE
        CONSTRAINT opening_service_fkey REFERENCES sys.service (name) ON DELETE CASCADE,
    resource_id bigint CONSTRAINT opening_resource_id_key UNIQUE
        CONSTRAINT opening_resource_id_fkey REFERENCES sys.resource (id) ON DELETE CASCADE,
    code text NOT NULL CONSTRAINT opening_code_check CHECK (code IN ('@login', '@anyone')),
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT opening_object_check CHECK ((service IS NULL) <> (resource_id IS NULL))
);

ALTER TABLE sys.resource_history ADD COLUMN service text NOT NULL DEFAULT 'portcullis';
"""

_HISTORY = """
CREATE TABLE sys.{name} (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT {name}_pkey PRIMARY KEY,{columns}
    since bigint NOT NULL,
    until bigint,
    CONSTRAINT {name}_until_check CHECK (until > since)
);
CREATE INDEX {name}_since_idx ON sys.{name} (since);
CREATE INDEX {name}_until_idx ON sys.{name} (until) WHERE until IS NOT NULL;
"""

_TABLES = {
    "service_history": """
    service_id bigint NOT NULL,
    name text NOT NULL,
    description text,
    ignore_case boolean NOT NULL,
    ignore_trailing_slash boolean NOT NULL,
    allow_preflight boolean NOT NULL,""",
    "opening_history": """
    opening_id bigint NOT NULL,
    service text,
    resource_id bigint,
    code text NOT NULL,""",
}


def upgrade() -> None:
    op.execute(_SERVICES)
    for name, columns in _TABLES.items():
        op.execute(_HISTORY.format(name=name, columns=columns))
