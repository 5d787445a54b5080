"""The sentences of refusals of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "no_such_webhook": "There is no such destination",
        "webhook_not_started": "No worker has sent anything to this destination yet",
        "events_ordered": "{ordered} events in order, {begun} assignments begun",
        "events_deleted": "{count} events deleted",
    }
)
