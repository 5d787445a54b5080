"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "owner_not_confirmable": "You may not confirm the owner of this account: the account, or who acted "
        "on it, stands behind your account",
    }
)
