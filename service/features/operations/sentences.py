"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "checks_take_long": "The checks take longer than expected",
        "file_system_silent": "A file system does not respond",
        "store_reason": "{reason}",
    }
)
