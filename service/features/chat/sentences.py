"""The sentences of refusals of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "no_such_destination": "There is no such destination",
        "messages_sent": "{sent} messages sent, {deferred} deferred, {given_up} given up",
    }
)
