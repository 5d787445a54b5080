"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "same_record_twice": "Row {row} has the same record",
        "too_many_roles": "The user already has the maximum of {most} roles",
    }
)
