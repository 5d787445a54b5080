"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "refusal_not_allowed": "Finding a refusal by its id requires the right to GET {path}",
        "decision_of_another_revision": "The decision belongs to another revision",
        "demand_without_resource": "A demand can only be set for a resource",
        "one_of_role_user_resource": "Name one of roleCode, userName and resource",
        "request_or_object": "Name a method and a path, or a layer and an object of it",
        "one_of_role_user_codes": "Name one of roleCode, userName and codes",
        "layer_without_codes": "No codes are held in this layer",
        "not_a_decision_id": "is not a decision id",
        "revision_not_stored": "The revision does not exist, or its lines were not stored",
        "one_question": "Name exactly one of: a request, a grant, a permission, or a layer and an object",
        "other_static_policy": "The decision was made with another static policy than the one of this node",
        "time_revision_or_decision": "Name a time, a revision or a decision",
        "no_permission_code": "This is not a permission code",
        "no_such_refusal": "Neither the operation log nor the decision log of this node has a refusal with "
        "this id. Other decisions can't be found by id. Send the subject and the request instead: POST "
        "/api/policy/explain, or portcullis policy explain USER METHOD PATH, with --service for another "
        "service",
        "refused_user_deleted": "The operation log has the refusal, but its user has been deleted",
        "refused_request_not_stored": "The operation log has the refusal, but not its request",
        "log_unreadable": "can't be read: {error}",
        "role_without_code": "The role does not have {code}",
        "user_without_role": "The user has no role {role}",
        "role_does_not_exist": "The role {role} does not exist",
        "code_not_of_resource": "{code} does not give access to the resource",
        "text_is_no_code": "{code} is not a permission code",
        "method_and_path": "Name a method and a path, such as {example}",
        "nothing_changed": "Name what would be added or removed",
        "would_lose_undo": "You would lose permissions that may be needed to undo this: {codes}"
        "{more, plural, =0 {} other { and # more}}",
        "would_lose_grant": "You would no longer hold {codes}{more, plural, =0 {} other { and # more}}, "
        "and could no longer grant it",
        "resource_without_route": "No route serves {resource}, so it changes no access",
        "warning_of_menu": "{menu}: {finding}",
    }
)
