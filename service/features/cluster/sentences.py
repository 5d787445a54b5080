"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "shard_without_primary": "This shard of the session store has no primary",
        "revocations_unknown": "The revoked tokens and sessions could not be determined",
    }
)
