"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "not_a_directory_name": "must be a name: {pattern}",
        "group_twice": "has a group twice",
        "no_such_service_account": "There is no such service account",
        "role_above_ceiling": "The role has permissions above the ceiling of the directory",
        "user_above_ceiling": "The user has permissions above the ceiling of the directory, so the "
        "directory cannot edit the user",
        "role_with_longest_duration": "The role has a longest duration, but provisioning assigns roles "
        "without an end",
        "code_above_ceiling": "The role has {code}, which is above the ceiling",
        "user_of_other_directory": "The directory does not have this user",
        "ceiling_not_held": "The ceiling has permissions that you do not hold",
        "directory_feature_off": "must be false: the feature {kind} is turned off",
        "client_required": "A service account is required for a provisioning directory, and not allowed "
        "otherwise",
        "client_taken": "The service account already provisions another directory",
        "source_is_provider": "is the name of a provider: choose another name for provisioning",
        "service_without_sign_in": "A service account cannot sign in",
        "managed_account": "The directory {directory} manages the account: edit it there",
        "managed_role": "The directory {directory} assigned the role: revoke it there",
        "managed_identity": "The directory {directory} manages the account: remove it there",
        "last_way_in": "This is your only way to sign in: create a passkey first, or ask for an invitation",
        # Findings
        "names_shared": "a provider and a provisioning directory have the same name: {names}",
        "rename_newer": "rename the newer of the two: docs/guides/provision-from-a-directory.md",
        "no_provider": "no user signs in with a provider",
        "no_name_shared": "no provisioning directory has the name of a provider",
        "no_member_pending": "no members are pending",
        "member_roles_updated": "roles of {count} members of {directories} updated to the mapping",
    }
)
