"""Users with their second factors, roles, menus, services, resources, and the tables that join them."""

from typing import Final, Literal, TypeAlias, get_args

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.kernel.origin import acting
from service.kernel.persons import ControlAct
from service.records.schema.base import (
    CODE_PATTERN,
    chosen,
    digest,
    filled,
    folded,
    identity,
    metadata,
    moment,
    versioned,
)

Source: TypeAlias = Literal["direct", "request", "directory"]
"""The origin of an assignment: an administrator, the approval of a request, or a directory."""
How: TypeAlias = Literal["expired", "revoked"]
"""The end of an assignment: at its ``valid_until``, or by an edit before."""
SOURCES: Final = get_args(Source)
_SEARCHED = ("user_name_key", "nick_name_folded", "email_folded", "phone")

user = sa.Table(
    "user",
    metadata,
    identity(),
    filled("user_name"),
    # The key by which names are compared: service.kernel.text.
    sa.Column("user_name_key", sa.Text, nullable=False, unique=True),
    sa.Column("nick_name", sa.Text, nullable=False),
    # A service account has API keys in place of a password; an invited person has none yet.
    sa.Column(
        "password_hash",
        sa.Text,
        sa.CheckConstraint("kind = 'person' OR password_hash IS NULL", name="password_hash"),
    ),
    chosen("kind", "person", "service", nullable=False, server_default="person"),
    # The guarded service that a service account is bound to.
    sa.Column(
        "service",
        sa.Text,
        sa.CheckConstraint(
            "service IS NULL OR (kind = 'service' AND service ~ '^[a-z][a-z0-9-]{0,31}$')", name="service"
        ),
    ),
    sa.Column("email", sa.Text),
    sa.Column("phone", sa.Text),
    chosen("gender", "female", "male", "other"),
    sa.Column("avatar", sa.Text),
    sa.Column("language", sa.Text),
    sa.Column("time_zone", sa.Text),
    chosen("status", "enabled", "disabled", nullable=False, server_default="enabled"),
    *versioned(),
    # Versions before 0.3 sort by these and search in them.
    sa.Column("nick_name_key", sa.Text, sa.Computed("lower(nick_name)", persisted=True)),
    sa.Column("email_key", sa.Text, sa.Computed("lower(email)", persisted=True)),
    folded("nick_name"),
    folded("email"),
    # When the password was last set anew; null while it is the one that the account was made with.
    sa.Column("password_time", sa.DateTime(timezone=True)),
    # Reason for a required change of the password: another user set it, or it is known from a leak.
    chosen("password_initial", "given", "leaked"),
    # The last address confirmed by the owner, to which links for a forgotten password are mailed.
    sa.Column("recovery_email", sa.Text),
    # The last address to which the owner has agreed, and the last one at which a link was opened: an address
    # that is both is the one for recovery.
    sa.Column("agreed_email", sa.Text),
    sa.Column("reached_email", sa.Text),
    # The creator of the account, or of the API key that created it; null for the operator, and for accounts
    # older than this column.
    sa.Column("made_by", sa.BigInteger, index=True),
    sa.Index("user_password_initial_idx", "id", postgresql_where=sa.text("password_initial IS NOT NULL")),
    sa.Index("user_user_name_key_id_idx", "user_name_key", "id", postgresql_include=["status"]),
    sa.Index("user_nick_name_folded_id_idx", "nick_name_folded", "id", postgresql_include=["status"]),
    sa.Index("user_email_folded_id_idx", "email_folded", "id", postgresql_include=["status"]),
    sa.Index("user_status_id_idx", "status", "id"),
    sa.Index("user_kind_id_idx", "kind", "id"),
    sa.Index("user_create_time_id_idx", "create_time", "id", postgresql_include=["status"]),
    sa.Index("user_update_time_id_idx", "update_time", "id", postgresql_include=["status"]),
    sa.Index(
        "user_search_idx",
        *_SEARCHED,
        postgresql_using="gin",
        postgresql_ops=dict.fromkeys(_SEARCHED, "gin_trgm_ops"),
    ).ddl_if(callable_=lambda *_about, **_options: False),  # ``functions.sql`` makes it, with pg_trgm
)

# Users with control of an account, the act by which they gained it, and the time of the last one.
account_control = sa.Table(
    "account_control",
    metadata,
    # No foreign keys: the deletion of an account hides no account behind it. Ids are never reused.
    sa.Column("holder_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("account_id", sa.BigInteger, primary_key=True, autoincrement=False),
    chosen("act", *get_args(ControlAct), primary_key=True),
    moment("act_time"),
    # The time at which a confirmation of the owner ended the act; null: it counts.
    sa.Column("end_time", sa.DateTime(timezone=True)),
    sa.CheckConstraint("holder_id <> account_id", name="holder_id"),
    sa.Index(None, "account_id"),
    sa.Index(None, "act_time"),
)

role = sa.Table(
    "role",
    metadata,
    identity(),
    filled("role_name"),
    sa.Column("role_name_key", sa.Text, nullable=False, unique=True),
    sa.Column(
        "role_code",
        sa.Text,
        sa.CheckConstraint("role_code ~ '^[a-z0-9_-]{1,64}$'", name="role_code"),
        nullable=False,
        unique=True,
    ),
    sa.Column("description", sa.Text),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    *versioned(),
    # Conditions of an assignment: its maximum duration in seconds, and a reason.
    sa.Column("max_duration", sa.Integer, sa.CheckConstraint("max_duration > 0", name="max_duration")),
    sa.Column("reason_required", sa.Boolean, nullable=False, server_default=sa.false()),
    # False: its holders may not use API keys of their own.
    sa.Column("personal_keys", sa.Boolean, nullable=False, server_default=sa.true()),
    # The maximum duration in seconds of its holders' delegations to agents; null for that of the setting.
    sa.Column("max_delegation", sa.Integer, sa.CheckConstraint("max_delegation > 0", name="max_delegation")),
)

# The assignments that have not ended, but for those that the job has not set aside yet.
user_role = sa.Table(
    "user_role",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("role_id", sa.ForeignKey(role.c.id, ondelete="RESTRICT"), nullable=False),
    identity(),
    # In force from here on, and no longer at the end; null: from the beginning, without an end.
    sa.Column("valid_from", sa.DateTime(timezone=True)),
    sa.Column("valid_until", sa.DateTime(timezone=True)),
    sa.Column("reason", sa.Text),
    chosen("source", *SOURCES, nullable=False, server_default=SOURCES[0]),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.CheckConstraint("version > 0", name="version"),
    # Both null for assignments by a version without windows.
    sa.Column("create_time", sa.DateTime(timezone=True), server_default=sa.func.now()),
    sa.Column("created_by", sa.Text, default=acting),
    # When its window or its reason was last edited, by a trigger; null for never.
    sa.Column("edit_time", sa.DateTime(timezone=True)),
    # The directory that has assigned it; null for the other sources.
    sa.Column("directory", sa.Text),
    sa.CheckConstraint("valid_from < valid_until", name="window"),
    sa.Index("user_role_role_id_user_id_idx", "role_id", "user_id"),
    sa.Index(
        "user_role_window_key",
        "user_id",
        "role_id",
        "source",
        sa.text("coalesce(valid_from, '-infinity'::timestamptz)"),
        sa.text("coalesce(valid_until, 'infinity'::timestamptz)"),
        unique=True,
    ),
    sa.Index(None, "valid_from", postgresql_where=sa.text("valid_from IS NOT NULL")),
    sa.Index(None, "valid_until", postgresql_where=sa.text("valid_until IS NOT NULL")),
    sa.Index(None, "directory", postgresql_where=sa.text("directory IS NOT NULL")),
)

ended_assignment = sa.Table(
    "ended_assignment",
    metadata,
    # That of the assignment.
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False),
    # No foreign key: the role may be deleted since. Ids are never reused.
    sa.Column("role_id", sa.BigInteger, nullable=False),
    sa.Column("role_code", sa.Text, nullable=False),
    *(sa.Column(name, sa.DateTime(timezone=True)) for name in ("valid_from", "valid_until")),
    sa.Column("reason", sa.Text),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("create_time", sa.DateTime(timezone=True)),
    sa.Column("created_by", sa.Text),
    sa.Column("end_time", sa.DateTime(timezone=True), nullable=False),
    sa.Column("ended_by", sa.Text),
    chosen("how", *get_args(How), nullable=False),
    sa.Column("directory", sa.Text),
    sa.Index("ended_assignment_user_id_id_idx", "user_id", "id"),
    sa.Index(None, "end_time"),
)

user_ban = sa.Table(
    "user_ban",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("until", sa.DateTime(timezone=True)),
    sa.Column("reason", sa.Text, nullable=False),
    # No foreign key: the id stays when that user is deleted. Ids are never reused.
    sa.Column("banned_by", sa.BigInteger, nullable=False),
    moment("create_time"),
)

user_login = sa.Table(
    "user_login",
    metadata,
    # No foreign key: it would make a login wait for an edit of the user. Ids are never reused.
    sa.Column("user_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_login_time", sa.DateTime(timezone=True), nullable=False),
)

# Which codes of lines have let a user pass in a month: each with its last day, 1 to 31.
permission_use = sa.Table(
    "permission_use",
    metadata,
    # No foreign key: it would make edits of the user wait for it. Ids are never reused.
    sa.Column("user_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("month", sa.Date, primary_key=True, index=True),
    sa.Column("days", JSONB, nullable=False),
)

# Since when all workers record that; at most one row.
use_recording = sa.Table(
    "use_recording",
    metadata,
    sa.Column(
        "only_row",
        sa.Boolean,
        sa.CheckConstraint("only_row", name="only_row"),
        primary_key=True,
        server_default=sa.true(),
    ),
    sa.Column("since_time", sa.DateTime(timezone=True), nullable=False),
)

api_key = sa.Table(
    "api_key",
    metadata,
    identity(),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    filled("key_name"),
    # The first characters of the secret, to recognize the key by, and the SHA-256 of all of it.
    sa.Column("hint", sa.Text, nullable=False),
    digest("digest", nullable=False),
    # Permission codes, which may have wildcards; null: all that the account holds.
    sa.Column("scopes", ARRAY(sa.Text)),
    sa.Column("expire_time", sa.DateTime(timezone=True)),
    sa.Column("last_use_time", sa.DateTime(timezone=True)),
    # No foreign key: the id stays when that user is deleted. Ids are never reused.
    sa.Column("created_by", sa.BigInteger, nullable=False),
    moment("create_time"),
    # Only keys of persons have these: the address of the last use, the networks of all uses, the time of the
    # notice that the key expires, and the codes that all uses have needed of its scopes.
    sa.Column("last_use_ip", INET),
    sa.Column("networks", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'")),
    sa.Column("remind_time", sa.DateTime(timezone=True)),
    sa.Column("needed_codes", ARRAY(sa.Text)),
)

bit_position = sa.Sequence(
    "menu_bit_position_seq", metadata=metadata, data_type=sa.Integer, minvalue=0, start=0
)
"""Bit positions for rows that other programs insert; see ``records.menus.bit_positions``."""

menu = sa.Table(
    "menu",
    metadata,
    identity(),
    sa.Column("parent_id", sa.BigInteger, sa.ForeignKey("sys.menu.id", ondelete="RESTRICT"), index=True),
    chosen("menu_type", "Menu", "Button", nullable=False),
    filled("title"),
    sa.Column("name", sa.Text),
    sa.Column("path", sa.Text),
    sa.Column("component", sa.Text),
    sa.Column("icon", sa.Text),
    sa.Column("auth_mark", sa.Text),
    # The default is for Buttons; a Menu is inserted with NULL, as menu_button_check requires.
    sa.Column("bit_position", sa.Integer, unique=True, server_default=bit_position.next_value()),
    sa.Column("sort", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    *versioned(),
    sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("keep_alive", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("redirect", sa.Text),
    sa.Column("link", sa.Text),
    sa.Column("badge", sa.Text),
    sa.Column(
        "meta",
        JSONB(none_as_null=True),
        sa.CheckConstraint("jsonb_typeof(meta) = 'object'", name="meta"),
    ),
    sa.Column(
        "titles",
        JSONB(none_as_null=True),
        sa.CheckConstraint("jsonb_typeof(titles) = 'object'", name="titles"),
    ),
    folded("title"),
    sa.CheckConstraint("parent_id <> id", name="parent_id"),
    sa.CheckConstraint(
        f"auth_mark ~ '{CODE_PATTERN}' AND char_length(auth_mark) <= 128",
        name="auth_mark",
    ),
    sa.CheckConstraint(
        "CASE menu_type WHEN 'Button' THEN auth_mark IS NOT NULL AND bit_position IS NOT NULL"
        " ELSE bit_position IS NULL END",
        name="button",
    ),
    sa.CheckConstraint("bit_position >= 0", name="bit_position"),
    sa.Index(
        "menu_button_auth_mark_key",
        "auth_mark",
        unique=True,
        postgresql_where=sa.text("menu_type = 'Button'"),
    ),
)

role_menu = sa.Table(
    "role_menu",
    metadata,
    sa.Column("role_id", sa.ForeignKey(role.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("menu_id", sa.ForeignKey(menu.c.id, ondelete="RESTRICT"), primary_key=True, index=True),
)

# From when until when each role gave which code, by triggers on the tables above.
role_code_life = sa.Table(
    "role_code_life",
    metadata,
    identity(),
    # No foreign keys: role and Button may be deleted since. Ids are never reused.
    sa.Column("role_id", sa.BigInteger, nullable=False),
    sa.Column("role_code", sa.Text, nullable=False),
    # 0 and the empty code: that there was the role, by this role code.
    sa.Column("menu_id", sa.BigInteger, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("begin_time", sa.DateTime(timezone=True), nullable=False, index=True),
    sa.Column("end_time", sa.DateTime(timezone=True)),
    sa.Index("role_code_life_open_idx", "role_id", postgresql_where=sa.text("end_time IS NULL")),
    # A code taken and given again in one transaction continues: its end is that of the transaction.
    sa.Index("role_code_life_role_id_end_time_idx", "role_id", "end_time"),
)

# Which transaction has changed each user, role and key last, by triggers; ``all``: a table was emptied.
rights_change = sa.Table(
    "rights_change",
    metadata,
    chosen("noun", "user", "role", "key", "all", primary_key=True),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("transaction", sa.BigInteger, nullable=False, index=True),
)

service = sa.Table(
    "service",
    metadata,
    identity(),
    # "portcullis" is this service itself, which has no row.
    sa.Column(
        "name",
        sa.Text,
        sa.CheckConstraint(
            "name ~ '^[a-z][a-z0-9-]*$' AND char_length(name) <= 32 AND name <> 'portcullis'", name="name"
        ),
        nullable=False,
        unique=True,
    ),
    sa.Column("description", sa.Text),
    sa.Column("ignore_case", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("ignore_trailing_slash", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("allow_preflight", sa.Boolean, nullable=False, server_default=sa.false()),
    *versioned(),
)

resource = sa.Table(
    "resource",
    metadata,
    identity(),
    sa.Column("service", sa.Text, nullable=False, server_default="portcullis"),
    # Null for this service, so that the foreign key asks for a row of the others only.
    sa.Column(
        "other_service",
        sa.Text,
        sa.Computed("NULLIF(service, 'portcullis'::text)", persisted=True),
        sa.ForeignKey(service.c.name, ondelete="RESTRICT"),
        index=True,
    ),
    filled("resource_name"),
    filled("resource_code", unique=True),
    chosen("method", "GET", "POST", "PUT", "PATCH", "DELETE", nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    # Paths that match the same requests have the same shape, whatever the names of their parameters.
    sa.Column(
        "shape",
        sa.Text,
        sa.Computed(r"regexp_replace(path, '\{[^/]*\}'::text, '{}'::text, 'g'::text)", persisted=True),
        nullable=False,
    ),
    sa.Column("description", sa.Text),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column(
        "assurance",
        sa.Text,
        sa.CheckConstraint(
            "assurance ~ '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$'", name="assurance"
        ),
    ),
    sa.Column("services", sa.Boolean, nullable=False, server_default=sa.false()),
    *versioned(),
    folded("resource_name"),
    sa.CheckConstraint(
        r"path ~ '^/$|^(/([A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\}))+/?$' AND path !~ '/\.{1,2}(/|$)'"
        " AND (service <> 'portcullis' OR path !~ './$')",
        name="path",
    ),
    sa.UniqueConstraint("service", "method", "shape"),
    sa.Index("resource_assurance_idx", "id", postgresql_where=sa.text("assurance IS NOT NULL AND enabled")),
)

# An opening is about one resource of another service, or about all its requests that no resource fits.
opening = sa.Table(
    "opening",
    metadata,
    identity(),
    sa.Column("service", sa.ForeignKey(service.c.name, ondelete="CASCADE"), unique=True),
    sa.Column("resource_id", sa.ForeignKey(resource.c.id, ondelete="CASCADE"), unique=True),
    sa.Column(
        "code", sa.Text, sa.CheckConstraint("code IN ('@login', '@anyone')", name="code"), nullable=False
    ),
    moment("create_time"),
    # The word lets in until then; null: forever.
    sa.Column(
        "end_time",
        sa.DateTime(timezone=True),
        sa.CheckConstraint("end_time = date_trunc('second', end_time)", name="end_time"),
    ),
    sa.CheckConstraint("(service IS NULL) <> (resource_id IS NULL)", name="object"),
    sa.Index("opening_end_time_idx", "id", postgresql_where=sa.text("end_time IS NOT NULL")),
)

action_resource = sa.Table(
    "action_resource",
    metadata,
    sa.Column("resource_id", sa.ForeignKey(resource.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("menu_id", sa.ForeignKey(menu.c.id, ondelete="RESTRICT"), primary_key=True, index=True),
)

# Bit positions whose code was removed or changed: see ``records.menus.bit_positions``.
retired_bit = sa.Table(
    "retired_bit",
    metadata,
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    # The first policy revision without it, and the user who retired it (null: retired by an earlier version).
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("user_id", sa.BigInteger),
    sa.Column("free_time", sa.DateTime(timezone=True), nullable=False, index=True),
)

token_life = sa.Table(
    "token_life",
    metadata,
    # A life of access tokens, and when tokens with it were last issued.
    sa.Column("seconds", sa.Integer, primary_key=True, autoincrement=False),
    moment("last_time"),
)

user_factor = sa.Table(
    "user_factor",
    metadata,
    identity(),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    chosen("kind", "totp", "passkey", "recovery_codes", nullable=False),
    filled("factor_name"),
    # Null: an app that has not shown a code yet, and so is no factor.
    sa.Column("confirm_time", sa.DateTime(timezone=True)),
    sa.Column("last_used_time", sa.DateTime(timezone=True)),
    moment("create_time"),
    # For an app: its secret, encrypted, and the step of the last code.
    sa.Column("sealed_secret", sa.LargeBinary),
    sa.Column("last_step", sa.BigInteger),
    # For a passkey: its id, its attested credential data with the public key, and the values compared at each
    # use.
    sa.Column("credential_id", sa.LargeBinary, unique=True),
    sa.Column("credential", sa.LargeBinary),
    sa.Column("user_handle", sa.LargeBinary),
    sa.Column("sign_count", sa.BigInteger),
    sa.Column("backup_eligible", sa.Boolean),
    sa.Column("transports", ARRAY(sa.Text)),
    sa.CheckConstraint("(kind = 'totp') = (sealed_secret IS NOT NULL)", name="sealed_secret"),
    sa.CheckConstraint("kind = 'totp' OR confirm_time IS NOT NULL", name="confirm_time"),
    sa.CheckConstraint(
        "(kind = 'passkey') = (num_nonnulls(credential_id, credential, user_handle, sign_count,"
        " backup_eligible, transports) = 6)",
        name="passkey",
    ),
    sa.Index(
        "user_factor_pending_key",
        "user_id",
        unique=True,
        postgresql_where=sa.text("confirm_time IS NULL"),
    ),
    sa.Index(
        "user_factor_recovery_codes_key",
        "user_id",
        unique=True,
        postgresql_where=sa.text("kind = 'recovery_codes'"),
    ),
)

recovery_code = sa.Table(
    "recovery_code",
    metadata,
    sa.Column("factor_id", sa.ForeignKey(user_factor.c.id, ondelete="CASCADE"), primary_key=True),
    # The SHA-256 of the code.
    digest("digest", primary_key=True),
)
