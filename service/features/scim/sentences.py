"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "no_such_scim_resource": "There is no such resource",
        "group_taken": "The directory has a group of that name",
        "too_many_members": "A group has at most {most} members",
        "strangers": "These are no users of the directory: {users}",
        "no_such_group": "There is no such group",
        "scim_body_type": "The body must be {type} or application/json in UTF-8",
        "no_directory_of_client": "No directory has this service account as its client",
        "directory_without_accounts": "{directory} provisions no accounts: hand them over to the provider",
        "user_over_ceiling": "The user holds more than the ceiling of {directory} allows",
    }
)
