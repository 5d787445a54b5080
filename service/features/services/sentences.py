"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "service_name_reserved": "{service} is this service, and names match {pattern}",
        "service_in_use": "{service} still has resources, {resource} for one",
        "opened_by_files": "Public access to this service is given by its files only",
        "end_not_whole_seconds": "An end is in whole seconds",
        "end_past": "This instant is past",
        "no_resource_of_service": "{service} has no such resource",
        "roles_of_account_changing": "The roles of the account are changing",
        "no_access_ended": "no public access has ended",
        "openings_ended": "{count} openings ended",
        "cause_service_registered": "service {service} registered",
        "cause_resource_opened": "resource {resource} of {service} opened to {word}",
        "cause_rest_opened": "@unregistered of {service} opened to {word}",
        "cause_access_ended": "public access ended",
    }
)
