"""The sentences of refusals of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "stream_without_session": "An API key has no session, and so no event stream",
        "too_many_event_streams": "This session has {most} event streams already: share one among tabs",
        "worker_has_many_streams": "This worker has as many event streams as it serves. Try again later",
        "last_event_id_malformed": "{header} is not the id of an event of this stream",
    }
)
