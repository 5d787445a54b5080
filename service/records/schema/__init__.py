"""The tables as SQLAlchemy objects; ``service.records.migrations`` creates the same ones.

Describes columns, keys and constraints; holds no query.
"""

from service.records.schema.account_tokens import account_token, reset_request
from service.records.schema.base import SCHEMA, metadata
from service.records.schema.export import export_dead_letter, export_decision, export_destination
from service.records.schema.factors import recovery_code, user_factor
from service.records.schema.files import file, object_space
from service.records.schema.idempotency import idempotency_key
from service.records.schema.installation import backup, restore_epoch, schema_support, seeded
from service.records.schema.jobs import job, job_run
from service.records.schema.log_chain import log_chain, log_set_aside, log_verification
from service.records.schema.logs import (
    IS_OF_RIGHTS,
    IS_PREVIEW,
    login_log,
    operation_intent,
    operation_log,
)
from service.records.schema.mail import mail
from service.records.schema.policy import casbin_rule, policy_line, policy_revision, policy_worker
from service.records.schema.rights import (
    action_resource,
    api_key,
    bit_position,
    menu,
    opening,
    resource,
    retired_bit,
    role,
    role_menu,
    service,
    token_life,
    user,
    user_ban,
    user_login,
    user_role,
)
from service.records.schema.row_history import (
    binding_history,
    button_history,
    opening_history,
    resource_history,
    service_history,
)

__all__ = [
    "IS_OF_RIGHTS",
    "IS_PREVIEW",
    "SCHEMA",
    "account_token",
    "action_resource",
    "api_key",
    "backup",
    "binding_history",
    "bit_position",
    "button_history",
    "casbin_rule",
    "export_dead_letter",
    "export_decision",
    "export_destination",
    "file",
    "idempotency_key",
    "job",
    "job_run",
    "log_chain",
    "log_set_aside",
    "log_verification",
    "login_log",
    "mail",
    "menu",
    "metadata",
    "object_space",
    "opening",
    "opening_history",
    "operation_intent",
    "operation_log",
    "policy_line",
    "policy_revision",
    "policy_worker",
    "recovery_code",
    "reset_request",
    "resource",
    "resource_history",
    "restore_epoch",
    "retired_bit",
    "role",
    "role_menu",
    "schema_support",
    "seeded",
    "service",
    "service_history",
    "token_life",
    "user",
    "user_ban",
    "user_factor",
    "user_login",
    "user_role",
]
