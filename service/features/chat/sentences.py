"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "no_such_destination": "There is no such destination",
        "undelivered_without_destination": "the destination is no longer in the settings",
        "undelivered_by_any_process": "no process has sent it",
        "messages_sent": "{sent} messages sent, {deferred} deferred, {given_up} given up",
    }
)
