"""Users with their second factors, roles, menus, services, resources, and the tables that join them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Sequence,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import (
    CODE_PATTERN,
    chosen,
    digest,
    filled,
    identity,
    metadata,
    moment,
    versioned,
)

_SEARCHED = ("user_name_key", "nick_name_key", "email_key", "phone")

user = Table(
    "user",
    metadata,
    identity(),
    filled("user_name"),
    # The key by which names are compared: service.kernel.text.
    Column("user_name_key", Text, nullable=False, unique=True),
    Column("nick_name", Text, nullable=False),
    # A service account has API keys in place of a password; a person who is invited has none yet.
    Column(
        "password_hash",
        Text,
        CheckConstraint("kind = 'person' OR password_hash IS NULL", name="password_hash"),
    ),
    chosen("kind", "person", "service", nullable=False, server_default="person"),
    # The guarded service that a service account is bound to.
    Column(
        "service",
        Text,
        CheckConstraint(
            "service IS NULL OR (kind = 'service' AND service ~ '^[a-z][a-z0-9-]{0,31}$')", name="service"
        ),
    ),
    Column("email", Text),
    Column("phone", Text),
    chosen("gender", "female", "male", "other"),
    Column("avatar", Text),
    chosen("status", "enabled", "disabled", nullable=False, server_default="enabled"),
    *versioned(),
    # Lists sort by these and search in them.
    Column("nick_name_key", Text, Computed("lower(nick_name)", persisted=True)),
    Column("email_key", Text, Computed("lower(email)", persisted=True)),
    # When the password was last set anew; null while it is the one that the account was made with.
    Column("password_time", DateTime(timezone=True)),
    # Why its owner has to change the password first: somebody else has given it, or it is known from a leak.
    chosen("password_initial", "given", "leaked"),
    # The last address that the owner has confirmed, to which a forgotten password is mailed.
    Column("recovery_email", Text),
    Index("user_user_name_key_id_idx", "user_name_key", "id", postgresql_include=["status"]),
    Index("user_nick_name_key_id_idx", "nick_name_key", "id", postgresql_include=["status"]),
    Index("user_email_key_id_idx", "email_key", "id", postgresql_include=["status"]),
    Index("user_status_id_idx", "status", "id"),
    Index("user_kind_id_idx", "kind", "id"),
    Index("user_create_time_id_idx", "create_time", "id", postgresql_include=["status"]),
    Index("user_update_time_id_idx", "update_time", "id", postgresql_include=["status"]),
    Index(
        "user_search_idx",
        *_SEARCHED,
        postgresql_using="gin",
        postgresql_ops=dict.fromkeys(_SEARCHED, "gin_trgm_ops"),
    ),
)

role = Table(
    "role",
    metadata,
    identity(),
    filled("role_name"),
    Column("role_name_key", Text, nullable=False, unique=True),
    Column(
        "role_code",
        Text,
        CheckConstraint("role_code ~ '^[a-z0-9_-]{1,64}$'", name="role_code"),
        nullable=False,
        unique=True,
    ),
    Column("description", Text),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    *versioned(),
)

user_role = Table(
    "user_role",
    metadata,
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    Column("role_id", ForeignKey(role.c.id, ondelete="RESTRICT"), primary_key=True),
    Index("user_role_role_id_user_id_idx", "role_id", "user_id"),
)

user_ban = Table(
    "user_ban",
    metadata,
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    Column("until", DateTime(timezone=True)),
    Column("reason", Text, nullable=False),
    # No foreign key: the id stays when that user is deleted. Ids are never reused.
    Column("banned_by", BigInteger, nullable=False),
    moment("create_time"),
)

user_login = Table(
    "user_login",
    metadata,
    # No foreign key: it would make a login wait for an edit of the user. Ids are never reused.
    Column("user_id", BigInteger, primary_key=True, autoincrement=False),
    Column("last_login_time", DateTime(timezone=True), nullable=False),
)

api_key = Table(
    "api_key",
    metadata,
    identity(),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    filled("key_name"),
    # The first characters of the secret, to recognize the key by, and the SHA-256 of all of it.
    Column("hint", Text, nullable=False),
    digest("digest", nullable=False),
    # Permission codes, which may have wildcards; null: all that the account holds.
    Column("scopes", ARRAY(Text)),
    Column("expire_time", DateTime(timezone=True)),
    Column("last_use_time", DateTime(timezone=True)),
    # No foreign key: the id stays when that user is deleted. Ids are never reused.
    Column("created_by", BigInteger, nullable=False),
    moment("create_time"),
)

bit_position = Sequence("menu_bit_position_seq", metadata=metadata, data_type=Integer, minvalue=0, start=0)
"""Bit positions for rows that other programs insert; see ``records.menus.bit_positions``."""

menu = Table(
    "menu",
    metadata,
    identity(),
    Column("parent_id", BigInteger, ForeignKey("sys.menu.id", ondelete="RESTRICT"), index=True),
    chosen("menu_type", "Menu", "Button", nullable=False),
    filled("title"),
    Column("name", Text),
    Column("path", Text),
    Column("component", Text),
    Column("icon", Text),
    Column("auth_mark", Text),
    # The default is for Buttons; a Menu is inserted with NULL, as menu_button_check requires.
    Column("bit_position", Integer, unique=True, server_default=bit_position.next_value()),
    Column("sort", Integer, nullable=False, server_default=text("0")),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    *versioned(),
    Column("hidden", Boolean, nullable=False, server_default=false()),
    Column("keep_alive", Boolean, nullable=False, server_default=false()),
    Column("redirect", Text),
    Column("link", Text),
    Column("badge", Text),
    Column(
        "meta",
        JSONB(none_as_null=True),
        CheckConstraint("jsonb_typeof(meta) = 'object'", name="meta"),
    ),
    CheckConstraint("parent_id <> id", name="parent_id"),
    CheckConstraint(
        f"auth_mark ~ '{CODE_PATTERN}' AND char_length(auth_mark) <= 128",
        name="auth_mark",
    ),
    CheckConstraint(
        "CASE menu_type WHEN 'Button' THEN auth_mark IS NOT NULL AND bit_position IS NOT NULL"
        " ELSE bit_position IS NULL END",
        name="button",
    ),
    CheckConstraint("bit_position >= 0", name="bit_position"),
    Index(
        "menu_button_auth_mark_key", "auth_mark", unique=True, postgresql_where=text("menu_type = 'Button'")
    ),
)

role_menu = Table(
    "role_menu",
    metadata,
    Column("role_id", ForeignKey(role.c.id, ondelete="CASCADE"), primary_key=True),
    Column("menu_id", ForeignKey(menu.c.id, ondelete="RESTRICT"), primary_key=True, index=True),
)

service = Table(
    "service",
    metadata,
    identity(),
    # "portcullis" is this service itself, which has no row.
    Column(
        "name",
        Text,
        CheckConstraint(
            "name ~ '^[a-z][a-z0-9-]*$' AND char_length(name) <= 32 AND name <> 'portcullis'", name="name"
        ),
        nullable=False,
        unique=True,
    ),
    Column("description", Text),
    Column("ignore_case", Boolean, nullable=False, server_default=false()),
    Column("ignore_trailing_slash", Boolean, nullable=False, server_default=false()),
    Column("allow_preflight", Boolean, nullable=False, server_default=false()),
    *versioned(),
)

resource = Table(
    "resource",
    metadata,
    identity(),
    Column("service", Text, nullable=False, server_default="portcullis"),
    # Null for this service, so that the foreign key asks for a row of the others only.
    Column(
        "other_service",
        Text,
        Computed("NULLIF(service, 'portcullis'::text)", persisted=True),
        ForeignKey(service.c.name, ondelete="RESTRICT"),
        index=True,
    ),
    filled("resource_name"),
    filled("resource_code", unique=True),
    chosen("method", "GET", "POST", "PUT", "PATCH", "DELETE", nullable=False),
    Column("path", Text, nullable=False),
    # Paths that match the same requests have the same shape, whatever the names of their parameters.
    Column(
        "shape",
        Text,
        Computed(r"regexp_replace(path, '\{[^/]*\}'::text, '{}'::text, 'g'::text)", persisted=True),
        nullable=False,
    ),
    Column("description", Text),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column(
        "assurance",
        Text,
        CheckConstraint(
            "assurance ~ '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$'", name="assurance"
        ),
    ),
    Column("services", Boolean, nullable=False, server_default=false()),
    *versioned(),
    CheckConstraint(
        r"path ~ '^/$|^(/([A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\}))+/?$' AND path !~ '/\.{1,2}(/|$)'"
        " AND (service <> 'portcullis' OR path !~ './$')",
        name="path",
    ),
    UniqueConstraint("service", "method", "shape"),
)

# An opening is about one resource of another service, or about all its requests that no resource fits.
opening = Table(
    "opening",
    metadata,
    identity(),
    Column("service", ForeignKey(service.c.name, ondelete="CASCADE"), unique=True),
    Column("resource_id", ForeignKey(resource.c.id, ondelete="CASCADE"), unique=True),
    Column("code", Text, CheckConstraint("code IN ('@login', '@anyone')", name="code"), nullable=False),
    moment("create_time"),
    CheckConstraint("(service IS NULL) <> (resource_id IS NULL)", name="object"),
)

action_resource = Table(
    "action_resource",
    metadata,
    Column("resource_id", ForeignKey(resource.c.id, ondelete="CASCADE"), primary_key=True),
    Column("menu_id", ForeignKey(menu.c.id, ondelete="RESTRICT"), primary_key=True, index=True),
)

# Bit positions whose code was removed or changed: see ``records.menus.bit_positions``.
retired_bit = Table(
    "retired_bit",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    # The first policy revision without it, and the user who retired it (null: retired by an earlier version).
    Column("revision", BigInteger, nullable=False),
    Column("user_id", BigInteger),
    Column("free_time", DateTime(timezone=True), nullable=False, index=True),
)

token_life = Table(
    "token_life",
    metadata,
    # A life of access tokens, and when tokens with it were last issued.
    Column("seconds", Integer, primary_key=True, autoincrement=False),
    moment("last_time"),
)

user_factor = Table(
    "user_factor",
    metadata,
    identity(),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    chosen("kind", "totp", "passkey", "recovery_codes", nullable=False),
    filled("factor_name"),
    # Null: an app that has not shown a code yet, and so is no factor.
    Column("confirm_time", DateTime(timezone=True)),
    Column("last_used_time", DateTime(timezone=True)),
    moment("create_time"),
    # Of an app: its secret, encrypted, and the step of the last code.
    Column("sealed_secret", LargeBinary),
    Column("last_step", BigInteger),
    # Of a passkey: its id, its attested credential data with the public key, and what is compared each time.
    Column("credential_id", LargeBinary, unique=True),
    Column("credential", LargeBinary),
    Column("user_handle", LargeBinary),
    Column("sign_count", BigInteger),
    Column("backup_eligible", Boolean),
    Column("transports", ARRAY(Text)),
    CheckConstraint("(kind = 'totp') = (sealed_secret IS NOT NULL)", name="sealed_secret"),
    CheckConstraint("kind = 'totp' OR confirm_time IS NOT NULL", name="confirm_time"),
    CheckConstraint(
        "(kind = 'passkey') = (num_nonnulls(credential_id, credential, user_handle, sign_count,"
        " backup_eligible, transports) = 6)",
        name="passkey",
    ),
    Index(
        "user_factor_pending_key",
        "user_id",
        unique=True,
        postgresql_where=text("confirm_time IS NULL"),
    ),
    Index(
        "user_factor_recovery_codes_key",
        "user_id",
        unique=True,
        postgresql_where=text("kind = 'recovery_codes'"),
    ),
)

recovery_code = Table(
    "recovery_code",
    metadata,
    Column("factor_id", ForeignKey(user_factor.c.id, ondelete="CASCADE"), primary_key=True),
    # The SHA-256 of the code.
    digest("digest", primary_key=True),
)
