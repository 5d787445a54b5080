"""Users, roles, menus, resources, and what joins them."""

from alembic import op

revision = "v0001"
down_revision = None

_ACCOUNTS = """
CREATE TABLE sys."user" (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT user_pkey PRIMARY KEY,
    user_name text NOT NULL CONSTRAINT user_user_name_check CHECK (user_name <> ''),
    user_name_key text NOT NULL CONSTRAINT user_user_name_key_key UNIQUE,
    nick_name text NOT NULL,
    password_hash text NOT NULL,
    email text,
    phone text,
    gender text CONSTRAINT user_gender_check CHECK (gender IN ('female', 'male', 'other')),
    avatar text,
    status text NOT NULL DEFAULT 'enabled'
        CONSTRAINT user_status_check CHECK (status IN ('enabled', 'disabled')),
    version integer NOT NULL DEFAULT 1 CONSTRAINT user_version_check CHECK (version > 0),
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE sys.role (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT role_pkey PRIMARY KEY,
    role_name text NOT NULL CONSTRAINT role_role_name_check CHECK (role_name <> ''),
    role_name_key text NOT NULL CONSTRAINT role_role_name_key_key UNIQUE,
    role_code text NOT NULL CONSTRAINT role_role_code_key UNIQUE
        CONSTRAINT role_role_code_check CHECK (role_code ~ '^[a-z0-9_-]{1,64}$'),
    description text,
    enabled boolean NOT NULL DEFAULT true,
    version integer NOT NULL DEFAULT 1 CONSTRAINT role_version_check CHECK (version > 0),
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE sys.user_role (
    user_id bigint NOT NULL
        CONSTRAINT user_role_user_id_fkey REFERENCES sys."user" (id) ON DELETE CASCADE,
    role_id bigint NOT NULL
        CONSTRAINT user_role_role_id_fkey REFERENCES sys.role (id) ON DELETE RESTRICT,
    CONSTRAINT user_role_pkey PRIMARY KEY (user_id, role_id)
);
CREATE INDEX user_role_role_id_idx ON sys.user_role (role_id);
"""

_MENUS = r"""
CREATE SEQUENCE sys.menu_bit_position_seq AS integer MINVALUE 0 START WITH 0;
CREATE TABLE sys.menu (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT menu_pkey PRIMARY KEY,
    parent_id bigint
        CONSTRAINT menu_parent_id_fkey REFERENCES sys.menu (id) ON DELETE RESTRICT
        CONSTRAINT menu_parent_id_check CHECK (parent_id <> id),
    menu_type text NOT NULL CONSTRAINT menu_menu_type_check CHECK (menu_type IN ('Menu', 'Button')),
    title text NOT NULL CONSTRAINT menu_title_check CHECK (title <> ''),
    name text,
    path text,
    component text,
    icon text,
    auth_mark text CONSTRAINT menu_auth_mark_check CHECK (
        auth_mark ~ '^([a-z0-9_-]+|\*)(:([a-z0-9_-]+|\*))*$' AND char_length(auth_mark) <= 128
    ),
    bit_position integer DEFAULT nextval('sys.menu_bit_position_seq')
        CONSTRAINT menu_bit_position_key UNIQUE
        CONSTRAINT menu_bit_position_check CHECK (bit_position >= 0),
    sort integer NOT NULL DEFAULT 0,
    enabled boolean NOT NULL DEFAULT true,
    version integer NOT NULL DEFAULT 1 CONSTRAINT menu_version_check CHECK (version > 0),
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT menu_button_check CHECK (
        CASE menu_type
            WHEN 'Button' THEN auth_mark IS NOT NULL AND bit_position IS NOT NULL
            ELSE bit_position IS NULL
        END
    )
);
CREATE INDEX menu_parent_id_idx ON sys.menu (parent_id);
CREATE UNIQUE INDEX menu_button_auth_mark_key ON sys.menu (auth_mark) WHERE menu_type = 'Button';
CREATE TABLE sys.role_menu (
    role_id bigint NOT NULL
        CONSTRAINT role_menu_role_id_fkey REFERENCES sys.role (id) ON DELETE CASCADE,
    menu_id bigint NOT NULL
        CONSTRAINT role_menu_menu_id_fkey REFERENCES sys.menu (id) ON DELETE RESTRICT,
    CONSTRAINT role_menu_pkey PRIMARY KEY (role_id, menu_id)
);
CREATE INDEX role_menu_menu_id_idx ON sys.role_menu (menu_id);
"""

_RESOURCES = r"""
CREATE TABLE sys.resource (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT resource_pkey PRIMARY KEY,
    resource_name text NOT NULL CONSTRAINT resource_resource_name_check CHECK (resource_name <> ''),
    resource_code text NOT NULL CONSTRAINT resource_resource_code_key UNIQUE
        CONSTRAINT resource_resource_code_check CHECK (resource_code <> ''),
    method text NOT NULL
        CONSTRAINT resource_method_check CHECK (method IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
    path text NOT NULL CONSTRAINT resource_path_check CHECK (
        path ~ '^/$|^(/([A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\}))+$' AND path !~ '/\.{1,2}(/|$)'
    ),
    shape text NOT NULL GENERATED ALWAYS AS (regexp_replace(path, '\{[^/]*\}', '{}', 'g')) STORED,
    description text,
    enabled boolean NOT NULL DEFAULT true,
    version integer NOT NULL DEFAULT 1 CONSTRAINT resource_version_check CHECK (version > 0),
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT resource_method_shape_key UNIQUE (method, shape)
);
CREATE TABLE sys.action_resource (
    resource_id bigint NOT NULL
        CONSTRAINT action_resource_resource_id_fkey REFERENCES sys.resource (id) ON DELETE CASCADE,
    menu_id bigint NOT NULL
        CONSTRAINT action_resource_menu_id_fkey REFERENCES sys.menu (id) ON DELETE RESTRICT,
    CONSTRAINT action_resource_pkey PRIMARY KEY (resource_id, menu_id)
);
CREATE INDEX action_resource_menu_id_idx ON sys.action_resource (menu_id);
"""


def upgrade() -> None:
    op.execute(_ACCOUNTS)
    op.execute(_MENUS)
    op.execute(_RESOURCES)
