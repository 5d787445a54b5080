"""Second factors of users, and their recovery codes."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
    text,
)

from service.records.schema.base import identity, metadata, moment
from service.records.schema.rights import user

user_factor = Table(
    "user_factor",
    metadata,
    identity(),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column(
        "kind",
        Text,
        CheckConstraint("kind IN ('totp', 'passkey', 'recovery_codes')", name="kind"),
        nullable=False,
    ),
    Column("factor_name", Text, CheckConstraint("factor_name <> ''", name="factor_name"), nullable=False),
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
    Column(
        "digest",
        LargeBinary,
        CheckConstraint("octet_length(digest) = 32", name="digest"),
        primary_key=True,
    ),
)
