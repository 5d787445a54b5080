"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "erase_by_key": "API keys can't erase personal data",
        "if_match_required": "The header If-Match with the ETag of the preview is required",
        "logs_maintained": "The logs are being maintained: the erasure goes on in a minute",
        "reason_names_person": "must not have a name or another value of the person: entries keep the reason",
        "erasures_passed": "{erasures} erasures, {rows} rows changed",
    }
)
