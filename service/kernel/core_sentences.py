"""The sentences of the core's refusals and faults, by code: see ``service.kernel.coded_sentences``."""

from collections.abc import Mapping
from typing import Final

from service.kernel.coded_sentences import OTHER, Sentences
from service.kernel.feature import declared
from service.kernel.policy_sentences import INVARIANTS, LINES, REASONS

_VALUES: Final = {
    OTHER: "{sentence}",
    "required": "The field is required",
    "missing": "is missing",
    "unknown_field": "There is no such field",
    "not_allowed": "is not one of the values allowed",
    "other_form": "does not have the required form",
    "not_one_of": "must be {choices} or {last}",
    "not_among": "must be one or more of {choices}, separated by commas",
    "too_short": "must have {least} to {most} characters",
    "wrong_length": "must have {least} to {most} characters",
    "too_long": "must have at most {most} characters",
    "out_of_range": "must be a whole number from {least} to {most}",
    "not_in_future": "must be in the future",
    "not_after_start": "must be after the start",
    "start_not_before_end": "The start must be before the end",
    "unchangeable": "can't be changed",
    "one_line_required": "must be one line of 1 to {most} characters without spaces at its ends",
    "unseen_character": "must not hold {character}, which can't be seen",
    "unknown_characters": "must not hold characters that are not known",
    "outer_spaces": "must not begin or end with a space",
    "two_spaces": "must not hold two spaces in a row",
    "joiners": "must not hold joiners or selectors",
    "mixed_scripts": "must not mix letters of scripts that look alike",
    "reserved_beginning": "must not begin with {beginning}: reserved for log entries without a user",
    "not_in_years": "must be from year 1 to 9999 in UTC",
    "not_a_time": "must be a time such as 2026-11-21T02:33:53Z",
    "not_a_menu_path": "must be a path or an http or https URL of at most {most} characters",
    "not_an_own_path": "must be a path from / of at most {most} characters",
    "not_a_link": "must be an http or https URL with a host and no user, or a path from /, of at most "
    "{most} characters",
    "not_a_resource_code": "must begin with a letter or digit and have at most {most} letters, digits and . "
    "_ : -",
    "not_an_email_address": "must be an email address of at most {most} characters",
    "not_a_phone_number": "must be a phone number of at most {most} characters",
    "not_an_avatar": "must be an http or https URL or a path from /, of at most {most} characters",
    "not_a_permission_code": "must be segments of a-z, 0-9, _ and - joined by ':', or '*' for a whole one",
    "not_a_role_code": "must have lower-case letters, digits, _ and - only",
    "not_a_service_name": "must begin with a lower-case letter and have at most 32 lower-case letters, "
    "digits and hyphens",
    "not_a_service_name_form": "must begin with a lower-case letter, and have lower-case letters, digits "
    "and - only",
    "not_a_language": "must be one of the languages {languages}",
    "not_a_time_zone": "must be a time zone of the IANA database, such as Asia/Shanghai",
    "not_language_tags": "must have language tags as keys, such as zh-CN",
    "language_twice": "must name each language once, in any case",
    "too_many_languages": "must have at most {most} languages",
    "not_a_device": "must be a device type: {pattern}",
    "not_a_path": "a path starts with '/', and its segments are {segment} or consist of letters, digits and "
    ". _ ~ -; no segment is empty, '.' or '..'",
    "path_too_long": "a path has at most {most} characters",
    "object_too_large": "must have at most {most} bytes as JSON",
    "object_too_deep": "must have at most {most} levels",
    "too_many_keys_of_object": "must have at most {most} keys in an object",
    "not_a_key_of_object": "must have keys of at most 64 letters, digits and _ . - that begin with a "
    "letter, not constructor or prototype",
    "number_out_of_range": "must have numbers from {least} to {most}, or below 0 likewise",
    "not_plain_json": "must have only texts, numbers, true, false, null, lists and objects",
    "unknown_parameter": "There is no such parameter",
    "unknown_parameter_of": "There is no such parameter; there are {names}",
    "parameter_twice": "The parameter is given twice",
    "parameter_not_utf8": "The parameter is not UTF-8",
    "parameter_null": "Leave the parameter out instead of sending null",
    "not_a_sort_key": "one of {keys}, with '-' for descending",
    "cursor_of_another_service": "was not created by this service",
}


def _sized(noun: str, unit: str) -> str:
    """Return the template of a text, list or object with bounds of its length."""
    least, most = (f"{{{name}, plural, one {{# {unit}}} other {{# {unit}s}}}}" for name in ("least", "most"))
    options = f"least {{ of at least {least}}} most {{ of at most {most}}} other {{ of {{least}} to {most}}}"
    return f"must be {noun}{{length, select, none {{}} {options}}}"


_RANGES: Final = (
    "least { of at least {least}} most { of at most {most}} above { greater than {least}} "
    "below { below {most}} least_below { of at least {least} below {most}} "
    "above_below { greater than {least} below {most}} "
    "above_most { greater than {least} of at most {most}} other { from {least} to {most}}"
)


def _ranged(noun: str) -> str:
    """Return the template of a number with bounds."""
    return f"must be {noun}{{range, select, none {{}} {_RANGES}}}"


_NULL: Final = "{or_null, select, yes { or null} other {}}"
_TEXT: Final = (
    f"{_sized('a text', 'character')}"
    "{form, select, none {} example { such as {example}} other { of the required form}}"
)
_TYPES: Final = {
    code: template + _NULL
    for code, template in {
        "wrong_type": "must be {expected}",
        "must_be_text": _TEXT,
        "text_too_short": _TEXT,
        "text_too_long": _TEXT,
        "text_of_other_form": _TEXT,
        "must_be_list": _sized("a list", "item"),
        "list_too_short": _sized("a list", "item"),
        "list_too_long": _sized("a list", "item"),
        "must_be_object": _sized("an object", "member"),
        "must_be_integer": _ranged("a whole number"),
        "integer_out_of_range": _ranged("a whole number"),
        "must_be_number": _ranged("a number"),
        "must_be_boolean": "must be true or false",
        "must_be_time": "must be a time such as 2026-11-21T02:33:53Z",
        "must_be_one_of": "must be one of: {choices}",
        "must_be": "must be {choice}",
        "must_be_of_other_form": "must be of another form",
    }.items()
}
"""The sentences of values against their types; several say the same, for clients that tell them apart."""

_REQUESTS: Final = {
    # Paths, heads and bodies
    "request_path_too_long": "The path is longer than {most} bytes",
    "path_without_slash": "The path does not start with a slash",
    "path_with_forbidden_character": "The path contains a character that is not allowed",
    "path_with_needless_encoding": "The path percent-encodes a character that must not be encoded",
    "path_with_encoded_slash": "The path percent-encodes a slash, backslash, percent sign or semicolon",
    "path_with_control_character": "The path contains a control character",
    "path_without_encoding": "The path contains bytes that must be percent-encoded",
    "path_with_dot_segment": "The path contains an empty, '.' or '..' segment",
    "path_not_utf8": "The path is not UTF-8",
    "target_with_fragment": "The target of the request holds a fragment",
    "connect_refused": "CONNECT is for proxies, and this is none",
    "upgrade_with_body": "A request that asks for an upgrade must not have a body",
    "hosts_twice": "The request has more than one Host",
    "host_malformed": "The Host of the request is none",
    "host_missing": "The request has no Host",
    "transfer_encoding_in_http_1_0": "HTTP/1.0 knows no Transfer-Encoding",
    "length_and_transfer_encoding": "The request has both Content-Length and Transfer-Encoding",
    "transfer_encodings": "The request has more than one Transfer-Encoding",
    "transfer_encoding_unknown": "The only Transfer-Encoding that is understood is chunked",
    "not_http": "The request is no valid HTTP",
    "http_version_unknown": "The request line names a version of HTTP that is not spoken here",
    "query_without_encoding": "The query holds bytes that must be percent-encoded",
    "two_tokens": "The request carries two tokens",
    "token_empty": "The token is empty",
    "cookie_twice": "The request carries a cookie twice",
    "if_match_malformed": "If-Match is no list of entity tags",
    "revision_number_malformed": "{header} is not the number of a revision",
    "idempotency_key_malformed": "{header} must be given once, as 1 to {most} printable ASCII characters",
    "idempotency_key_refused": "This takes no {header}: {why}",
    "original_method_unknown": "The method of the original request is not known here",
    "header_changes_request": "The request carries a header that would change its method or path",
    "header_of_the_service": "The request carries a header that only this service may set",
    "proxy_header_missing": "The header {header} of the proxy must be there once",
    "body_not_json": "The body is not well-formed JSON",
    "duplicate_member": "The body has an object with a duplicate member",
    "body_fault": "{field}: {fault}",
    "body_compressed": "The body must not be compressed",
    "body_type": "The body must be {types} in UTF-8",
    "body_too_large": "The body is larger than {most} bytes",
    "body_ended_early": "The body ended before its end",
    "body_stopped": "The body did not go on",
    "file_size": "The file has {size} bytes",
    "from_another_site": "The request comes from another site",
    "rows_refused": "Nothing was saved, because some rows have errors",
    "proxy_key_refused": "The API key of the proxy is not accepted: {refusal}",
}

_STORES: Final = {
    "worker_ending": "The worker is about to end",
    "service_stopping": "The service is stopping",
    "not_ready": "Not ready: {parts}",
    "no_policy": "No policy has been loaded yet",
    "too_many_connections": "The service has too many connections",
    "too_many_logins": "Too many logins are waiting. Try again",
    "too_many_questions": "Too many policy questions are in progress. Try again",
    "token_being_refreshed": "Another request is refreshing this token. Try again",
    "user_being_changed": "Another change of this user is in progress",
    "roles_being_changed": "The roles of the user are being changed. Try again",
    "sessions_being_changed": "The sessions of the user are being changed",
    "session_store_unavailable": "The session store is unavailable",
    "session_store_late": "The session store has answered too late",
    "session_store_read_only": "No server of the session store takes writes",
    "factors_unavailable": "This node can't check second factors",
    "factor_unreadable": "The secret of the second factor can't be read: see auth.factor_key",
    "database_unavailable": "The database is unavailable",
    "database_overloaded": "Too many requests are waiting for the database",
    "database_unread": "The database has not been read yet",
    "database_read_only": "The database does not accept changes",
    "database_incomplete": "The database lacks the tables of this service",
    "database_fault": "{fault}: {cause}",
    "out_of_time": "This took longer than the limit of {seconds} s and was cancelled. The database answers: "
    "make the change in smaller parts, or later, when the load is lower",
    "data_being_changed": "Another change to the same data is in progress. Try again",
    "gave_way": "An urgent change of the same user came first, so nothing was changed. Try again",
    "object_store_unavailable": "The object store is unavailable",
    "content_damaged": "The content of this file is damaged",
    "content_missing": "The content of this file is missing",
    "files_unavailable": "The directory of files does not answer",
    "revisions_lost": "The database has lost policy revisions that are in force",
    "policy_being_changed": "Other policy changes are still in progress. Try again",
    "policy_unpublishable": "The policy can't be published: {fault}",
    "revision_too_old": "This worker has a revision older than {revision}",
    "revision_unread": "The newest policy revision is unknown",
    "seal_differs": "its seal does not match its content",
    "seal_key_not_set": "it must be sealed with a key that is not configured here: set oplog.chain_key or "
    "oplog.chain_previous_key",
    "seal_missing": "it has no seal, although every revision since {since} has one",
    "stored_lines_differ": "the stored lines differ from the history",
    "prior_revision_differs": "the previous revision {revision} differs from its published version",
    "revision_forged": "revision {revision} was not published here: {reason}",
    "newest_revisions_lost": "the database has lost policy revisions that were in force",
    "revision_unusable": "no worker can use the newest policy revision",
    "kept_lines_differ": "its lines in the history differ from the published lines",
    "revision_differs": "Revision {revision} differs from its published version: {reason}",
}

_RECORDS: Final = {
    "no_such_user": "There is no such user",
    "no_such_role": "There is no such role",
    "no_such_menu": "There is no such menu",
    "no_such_page": "There is no such Menu",
    "no_such_button": "There is no such Button",
    "no_such_service": "There is no such service",
    "no_such_session": "There is no such session",
    "no_such_record": "There is no such {noun}",
    "no_button_with_code": "No Button has this code",
    "no_role_with_code": "there is no role {role}",
    "no_user_with_name": "There is no user {user}",
    "no_session_of_user": "The user has no session",
    "not_a_button": "This is no Button, and only Buttons are bound",
    "user_name_taken": "The user name is taken",
    "role_taken": "The role {what} belongs to role {role}",
    "permission_code_taken": "The permission code belongs to Button {menu}",
    "resource_code_taken": "The resource code belongs to resource {resource}",
    "resource_taken": "{object} (resource {resource}) fits the same requests already",
    "service_taken": "There is a service {service} already",
    "opening_taken": "{object} is opened to {word} already",
    "assignment_taken": "The user has the same assignment already",
    "too_many_permission_codes": "Too many permission codes were changed lately; Retry-After says when one "
    "more can be",
    "user_disabled": "The user {user} is disabled or banned",
    # Accounts, passwords and sessions
    "password_of_service": "cannot be set for service accounts, which use API keys",
    "password_of_invited": "cannot be set: the invited person sets it",
    "only_for_services": "can only be set for service accounts",
    "no_password": "A service account has no password",
    "password_unchanged": "must differ from the current password",
    "password_wrong": "is not the current password",
    "password_not_text": "must be text",
    "password_made_of_names": "must not consist of your name, address or phone number, or words of this "
    "service or your organization",
    "password_too_easy": "is too easy to guess",
    "password_leaked": "appears in a list of leaked passwords",
    "password_changed_meanwhile": "The password was changed in the meantime",
    "current_password_needed": "To change your own address, send the current password: PUT "
    "/api/user/profile with currentPassword",
    "password_change_needed": "Change the password first, since somebody else has set it or knows it: PUT "
    "/api/user/profile/password with currentPassword and newPassword. Then log in again, or refresh the "
    "tokens",
    "factor_key_missing": "Authenticator apps need an encryption key: the operator must set auth.factor_key",
    "key_without_session": "An API key has no session: delete the key",
    "roles_too_large_for_token": "The roles of the user do not fit into a token",
    "last_full_administrator": "This would leave no enabled user with all permissions",
    "last_able_administrator": "This would leave no enabled administrator with the required second factor "
    "of them",
    # Menus, roles and resources
    "menu_type_fixed": "The type of a menu can't be changed",
    "menu_below_itself": "A menu can't be below itself",
    "menus_too_deep": "The tree has at most {most} levels",
    "menu_with_code": "Only a Button has a permission code",
    "button_without_code": "A Button must have a permission code",
    "button_with_page": "A Button can't have a path or other navigation values",
    "menu_in_use": "The menu is in use: {children, plural, =0 {} other {# child menus}}{roles, plural, =0 "
    "{} other {{children, plural, =0 {} other {, }}# roles}}{resources, plural, =0 {} other {{children, "
    "plural, =0 {{roles, plural, =0 {} other {, }}} other {, }}# resources}}",
    "own_prefix": "is the prefix of Portcullis's own permission codes",
    "reason_missing": "must state a reason",
    "role_code_fixed": "The code of a role can't be changed",
    "role_in_use": "The role still has users",
    "codes_differ_from_menus": "The codes do not match the Buttons in menuIds: send only one of the two "
    "fields",
    "menus_or_codes": "Send either this field or codes",
    "menus_or_permissions": "Give this field or permissions",
    "role_needs_end_or_reason": "The role requires an end or a reason: assign it individually",
    "role_needs_reason": "The role can only be assigned with a reason",
    "until_too_late": "must be at most {most} seconds after the start of the assignment",
    "role_not_requestable": "The role cannot be requested: it has no request rule",
    "requestable_by_unknown": "must be {login}, or the permission code of a Button",
    "longer_than_role": "The role is assigned for at most {most} seconds",
    "emergency_too_weak": "Emergency access requires at least two factors",
    "request_rule_suspended": "This suspends the request rule of the role: {author} may not grant "
    "{codes}{more, plural, =0 {} other { and # more}}",
    "services_without_assurance": "can only be set together with assurance: without assurance, service "
    "accounts are not restricted",
    "resource_fixed_to_service": "A resource can't be moved to another service",
    "same_path_for_router": "{object} (resource {resource}) is the same path for the router of {service}",
    "same_paths_for_router": "{object} (resource {resource}) and {other} (resource {other_resource}) would "
    "be the same path for the router of {service}",
    "older_nodes": "{worker} runs a version that does not support {form, select, assurance {authentication "
    "demands} request {access requests} review {reviews} windows {assignments with a start or an end} "
    "personal_keys {API keys of people} other {an expiry of public access}}: upgrade all nodes first",
    # Further records and acts
    "no_such_revision": "There is no such revision",
    "no_such_directory": "There is no such directory",
    "role_id_or_role_code": "Send either roleId or roleCode",
    "session_of_key": "An API key has no session",
    "end_before_start": "Expected a time after that of from",
    "not_permission_code": "This is no permission code",
    "account_act_refused": "Your account may not do this: {act}",
    "roles_of_oneself": "You can't change your own roles",
    "service_of_oneself": "You can't change the service that your own account is bound to",
    "disable_oneself": "You can't disable your own account",
    "delete_oneself": "You can't delete your own account",
    "ban_oneself": "You can't ban yourself",
    "reset_own_factors": "Change your own second factors in your profile",
    "invite_oneself": "You have a password already",
    "verify_own_address": "Confirm your own address by the link that is mailed to it",
    "confirm_own_account": "Somebody else confirms who the owner of your account is",
    "reset_own_password": "Ask for a link on the page to log in",
    "set_own_password": "Change your own password in your profile, with the current one",
    "create_for_other_service": "An account that is bound to a service creates service accounts of the same "
    "service only",
    "key_by_key": "An API key can't make API keys",
    "act_by_personal_key": "An API key of a person, or an agent, can't do this: log in",
    "service_not_delegated": "The delegation to the agent does not name this service",
    "keys_barred_by_role": "A role of the account allows no API keys of its own",
    "follow_by_person": "Only service accounts follow the policy: use an API key",
    "proxy_by_person": "The proxy has the token of a person, and needs the key of a service account",
    "no_user_of_name": "There is no user with that name",
    "no_full_button": "No enabled Button carries *, to which the resource could be bound",
    "old_password_open": "The password is set, but the session store has become unavailable: a login with "
    "the old password at that moment may have left a session. Reset it again when the store is back",
    "one_request_or_policies": "name a request, two policies or --within, not more than one",
    "request_or_policies": "name a request by METHOD and PATH, two policies by --equivalent, or --within",
    "log_without_events": "it contains no event of a decision log",
    "too_few_replicas": "Too few replicas of the session store have confirmed this in time. It was done, "
    "but may be lost if the primary fails now",
    "policy_fault": "{fault}",
    "directory_cut_off": "The directory {directory} is cut off",
    "no_such_resource": "There is no such resource",
    # Permissions
    "not_held": "{why}; {needed, select, any {any one} other {all}} of the required permissions would be "
    "needed",
    "not_held_until": "{why}; you hold the missing permissions only until {until}; all of the required "
    "permissions would be needed",
    "other_method_needed": "This requires another authentication method",
    "role_not_held": "The role has permissions that you do not hold",
    "buttons_not_held": "The Buttons include permissions that you do not hold",
    "button_not_held": "The Button has a permission that you do not hold",
    "user_not_held": "The user holds permissions that you do not hold",
    "review_not_held": "The users and roles of the review hold permissions that you do not hold",
    "stage_not_held": "A stage needs a permission that you do not hold",
    "resource_not_held": "You do not hold the permissions that the resource is bound to",
    "no_code_of_resource_held": "Resource {resource} is bound to permissions, and you hold none of them",
    "service_not_allowed": "You are not allowed to administer resources of {service} in this way",
    "included_request_not_allowed": "It includes {method} {path}, which you are not allowed to send",
    "filter_needs_request": "The filter {filter} needs {request}, which you are not allowed to send",
    "resources_hidden": "You are not allowed to see the resources of {service}",
    "no_resource_permission": "None of the permissions bound to this resource is held",
    "no_endpoint_permission": "None of the permissions that this endpoint needs is held",
    # The policy
    "policy_unbuildable": "The policy can't be built from the stored data",
    "factor_locks_administrators_out": "This demands a second factor from administrators of the policy, but "
    "no enabled administrator has a sufficient one",
    "policy_files_changed": "The model or the policy files have changed: restart the service to use them",
    "policy_files_unusable": "The model or the policy files can't be used; see the log",
    "invariant_violated": "This would violate an invariant of the policy: {names}",
    "locks_everyone_out": "This would lock everyone out of the policy administration, including holders of "
    "all permissions",
    "time_before_history": "Rights before {beginning} are unknown",
    "policy_not_stored": "The policy of that time is not stored",
    "one_subject": "Name only one: a user, a role or permissions",
}

_FINDINGS: Final = {
    "database_silent": "the database does not answer",
    "database_without_schema": "the database does not have this version's schema",
    "database_slow": "the database does not answer in time",
    "session_store_silent": "the session store does not answer",
    "session_store_slow": "the session store does not answer in time",
    "policy_files_faulty": "the policy files have faults",
    "more_items": "…",
    "run_command": "{command}",
    "both_findings": "{first}; {second}",
}
"""The findings of ``doctor`` that several features have."""

_PERSONS: Final = {
    "same_person": "{first} counts as the same person as {second}: {acts}",
    "it_is_your_own": "it is your own",
    "deleted_account": "a deleted account",
    "act_on_account": "{holder} {act, select, made {created {account}} password {set the password of "
    "{account}} address {changed the email address or phone of {account}} factor {reset the second factors "
    "of {account}} key {created an API key of {account}} hand_over {handed {account} over to a provider} "
    "link {saw a link to {account}} other {took {account} over}} on {day}",
    "both_acts": "{first} and {last}",
    "calendar_day": "{day} {month, select, 1 {January} 2 {February} 3 {March} 4 {April} 5 {May} 6 {June} "
    "7 {July} 8 {August} 9 {September} 10 {October} 11 {November} other {December}} {year}",
}
"""Reasons for which accounts count as one person."""

_WARNINGS: Final = {
    "would_violate": "It would be refused because it violates the invariant {name}: {finding} ({reason})",
    "requests_give_more": "The role {role} can be requested: its requests now also give {codes}"
    "{more, plural, =0 {} other { and # more}}",
    "requests_suspended": "The role {role} cannot be requested until its request rule is saved again: "
    "{author} may not grant {codes}{more, plural, =0 {} other { and # more}}",
    "its_author": "its author",
    "menu_name_shared": "the menus {menus} have it: a front end has one route of a name: the last one",
    "menu_path_shared": "the menus {menus} have it: a front end shows one of them there",
    "menu_redirects_nowhere": "it redirects to {path}, which is the path of no enabled menu",
}
"""Warnings about a change."""

_CAUSES: Final = {
    "cause_by": "{act} by {user}",
    "cause_start": "start",
    "cause_reload": "reload",
    "cause_edited": "{kind} {name} edited",
    "cause_edited_many": "{count} {kind} edited",
    "cause_deleted": "{kind} {name} deleted",
    "cause_enabled": "{kind} {name} enabled",
    "cause_disabled": "{kind} {name} disabled",
    "cause_menu_created": "{name} created",
    "cause_resource_registered": "{name} registered",
    "cause_buttons_replaced": "Buttons of {kind} {name} replaced",
    "cause_resources_replaced": "resources of {kind} {name} replaced",
    "cause_permissions_replaced": "permissions of {kind} {name} replaced",
    "cause_rule_set": "request rule of {kind} {name} set",
    "cause_rule_deleted": "request rule of {kind} {name} deleted",
    "cause_unlocked": "resource {resource} unlocked",
    "cause_synchronized": "policy sync",
    "cause_published_anew": "published anew",
    "cause_derived_again": "derived again: {fault}",
    "cause_sealed_from_here": "each revision is sealed from here on",
    "cause_backup_restored": "restored from the backup {backup}",
}
"""The causes of revisions, by which the feature ``policy_history`` knows stored ones."""

_JOBS: Final = {
    "run_abandoned": "the process that ran it has ended",
    "run_stopped": "the service has ended meanwhile",
    "run_too_long": "stopped, since it took longer than {seconds} s",
    "run_error": "an unexpected error: {error}",
    "log_partitions_elsewhere": "another process maintains the partitions of the logs",
    "log_partitions_current": "the partitions of the logs are up to date",
    "bans_deleted": "{count} bans deleted",
    "secrets_sealed": "{parts}",
    "mail_links_sealed": "{count} links of mails",
}
"""The results of jobs."""

_DELIVERIES: Final = {
    "receiver_url_invalid": "its url is not valid",
    "receiver_late": "no answer within {seconds} s",
    "receiver_address_refused": "its host has an address that is not allowed",
    "receiver_redirects": "the receiver responds with {status}, a redirect, which is not followed",
    "receiver_responds": "the receiver responds with {status}",
    "receiver_secret_fault": "the secret {fault}",
    "receiver_file_fault": "the file of a secret {fault}",
    "receiver_certificate_refused": "the receiver's certificate is not accepted: {error}",
    "receiver_unreachable": "the receiver can't be reached: {error}",
    "undelivered_without_text": "this version has no text for it",
    "undelivered_since_backup": "it was queued in a backup, and may have been sent since",
}
"""Faults of messages: mails, messages in a chat and events."""

_TEXTS: Final = _VALUES | _TYPES | _REQUESTS | _STORES | _RECORDS | LINES | _FINDINGS

sentence: Final = Sentences(
    _TEXTS | INVARIANTS | REASONS | _PERSONS | _WARNINGS | _CAUSES | _JOBS | _DELIVERIES
)
"""The sentences of the core."""


def sentences_of_features() -> dict[str, Mapping[str, str]]:
    """Return the templates of each feature with sentences by code, by the title of the feature."""
    stated = [feature for feature in declared() if feature.sentences]
    return {feature.title: feature.part(feature.sentences).texts for feature in stated}


def every_sentence() -> dict[str, str]:
    """Return the templates of the core and of features by code; ValueError for one declared twice."""
    texts = dict(sentence.texts)
    for title, own in sentences_of_features().items():
        if twice := texts.keys() & own.keys():
            raise ValueError(f"{title}: {', '.join(sorted(twice))} is declared already")
        texts |= own
    return texts


def feature_sentences(texts: Mapping[str, str]) -> Sentences:
    """Return the sentences of a feature: ``texts`` by code, and those of the core."""
    return Sentences(texts, sentence)
