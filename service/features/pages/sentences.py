"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "documentation_not_built": "The documentation is not built here; python3 dev.py docs builds it in a "
        "checkout",
    }
)
