"""The core's sentences about policy lines and invariants: see ``service.kernel.core_sentences``."""

from typing import Final

LINES: Final = {
    "unknown_layer": "the layer must be {layers} or {last}, not {layer}",
    "object_of_resource_layer": "{object} is an object of the {layer} layer",
    "not_another_service": "{service} can't be the name of another service",
    "object_not_a_request": "the object must be '<method> <path>' with a method of {methods}, not {object}",
    "object_path_fault": "{fault}; not {path}",
    "object_not_a_code": "the object must be a permission code, not {object}",
    "object_not_a_service": "the object must be the name of another service, not {object}",
    "object_not_an_action": "the object must be '<service> <action>' with an action of {actions}, not "
    "{object}",
    "object_not_an_act": "the object must be an act and its target, such as 'delete others', not {object}",
    "object_always_closed": "{object} is always closed, so no line can open it",
    "code_of_line_malformed": "the code must be a permission code, @anyone, @login or @nobody, not {code}",
    "end_of_line_refused": "only public access to other services can have an end, not {code}",
    "end_of_line_malformed": "an end must have the form {form}, or the same with @login, not {code}",
    "object_not_code": "object and code of a line of this layer must be equal, not {object} and {code}",
    "code_of_line_required": "the code must be a permission code, not {code}",
    "code_of_line_not_among": "the code must be one of {codes}, not {code}",
    "object_not_of_layers": "the object must be a layer of {layers} and one of its objects, not {object}",
    "object_not_a_role": "the object must be 'role <code>' or 'role <code> emergency', not {object}",
    "code_of_line_or_login": "the code must be a permission code or @login, not {code}",
    "object_not_a_stage": "the object must have a form such as 'role auditor stage 1 for others', not "
    "{object}",
    "line_approves_oneself": "authors cannot approve their own requests, so this line is not allowed",
    "code_of_line_other": "the code must be {expected}, not {code}",
    "object_not_among": "the object must be one of {objects}, not {object}",
    "line_reviews_oneself": "reviewers cannot decide about their own access or on behalf of others, so this "
    "line is not allowed",
    "fault_at": "{place}: {fault}",
    "fault_of_object": "{layer, select, resource {the resource} grant {the Button of} permission {the "
    "enabled Button of} service {the service} assurance {the demand on} other {{layer}}} {object}: {fault}",
    "line_columns": "a line must be 'p, layer, object, code'; this one has {columns} columns",
    "line_twice": "a line appears twice",
    "line_of_node": "published lines must not have the object {object}",
    "same_requests": "{first} and {second} match the same requests",
    "opening_misplaced": "{object} can't be opened: it is neither a resource of another service nor "
    "@unregistered",
    "opening_to_word": "{object} can only be opened to {login} or {anyone}, not to {word}",
    "resource_without_code": "the resource {object}: {code} is not a permission code",
    "too_many_wildcards": "these permission codes have more than {most} different wildcards",
    "too_many_wildcards_of_code": "{code} has more than {most} wildcards",
    "no_policy_published": "no policy has been published yet",
    "published_digest_differs": "the stored lines do not match the digest of revision {revision}: "
    "sys.casbin_rule or a Button was changed after publishing",
    "rows_not_lines": "sys.casbin_rule has {count} rows that are not policy lines",
    "revision_untrusted_since": "revision {revision} is not trusted: {reason}",
}
"""The sentences about policy lines: their objects and codes, and lines that can't be used."""

INVARIANTS: Final = {
    "invariant_broken": "{name}: {finding} ({reason})",
    "open_but_unlisted": "{object} is open, but not listed",
    "listed_but_closed": "{object} is listed, but no line opens it",
    "line_beside_opening": "{line} and {word} exist for the same object: one of them has no effect",
    "line_unlisted": "{line} gives access, but is not listed",
    "listed_line_missing": "{line} is listed, but no such line exists",
    "demand_differs": "{object} demands {demand}, but the list has {listed}",
    "no_demand": "nothing",
    "either": "{first} or {last}",
    "both": "{first} and {last}",
    "code_of_other_form": "the code {code} does not match {pattern}",
    "can_send": "{who} can send {request}",
    "open_to_everyone": "everyone can send {request} without a login",
    "everyone_logged_in": "everyone who is logged in",
    "everyone_without_login": "everyone without a login",
    "holder_of": "a holder of {codes}",
    "role_named": "the role {role}",
    "code_named": "the code {code}",
    "roles_named": "the {count, plural, one {role} other {roles}} {roles}",
    "role_holds_both": "the role {role} holds {codes}",
    "user_holds_both": "the user {user} holds {codes}, by {roles}"
    "{begin, select, none {} other { from {begin}}}{end, select, none {} other { until {end}}}",
    "user_has_long": "the user {user} has {right}{begin, select, none {} other { from {begin}}}"
    "{end, select, none {, without an end} other { until {end}}}",
    "exceeds_person": "{object}: {caller, select, agent {an agent that acts for a person} "
    "other {an API key of a person}} {finding}",
    "exceeds_login": "passes the demand on the authentication, which a login of its person does not",
    "exceeds_session": "may {act}, which its person in a session may not",
    "exceeds_services": "acts at services that the delegation does not name",
    "exceeds_line": "passes a line with this code, which the {party} denies",
    "statement_without_route": "no route serves {request}, so the statement has no effect",
}
"""How a statement of the invariants does not hold."""

REASONS: Final = {
    "reason_openings_listed": "the list of requests that the policy files open to {word} is complete",
    "reason_lines_listed": "the list of requests that the policy files open by a code is complete",
    "reason_demands_listed": "the list of authentication demands is complete",
    "reason_form_of_codes": "all codes match the stated form",
    "reason_changes_need_a_code": "who holds no permission may change nothing but their own account and "
    "sessions",
    "reason_roles_are_changed_by_their_administrators": "a role gives rights to all its users",
    "reason_the_policy_is_changed_by_its_administrators": "a binding opens a resource to all holders of a "
    "Button",
    "reason_nobody_exceeds_the_person_behind": "an API key of a person, or an agent, never does what the "
    "person, its scopes or the delegation do not allow",
}
"""Reasons of the invariants: those of lists, and those of the statements that the product ships."""
