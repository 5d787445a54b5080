"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "after_with_cursor": "Not together with cursor",
        "not_a_network": "Expected an IP address, or a network such as 10.0.0.0/8",
        "cursor_unknown": "The cursor is not one that a list gave out",
        "cursor_of_other_order": "The cursor belongs to the other order",
        "page_too_far": "Beyond {most} entries go on with the cursor",
        "after_end_of_log": "The log has not come that far: read the list again",
        "too_many_log_readers": "Too many are reading the logs",
        "no_such_entry": "There is no such entry",
    }
)
