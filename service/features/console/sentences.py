"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "console_off": "The console is switched off here, by the setting console.enabled",
        "no_console_file": "This is no file of the console that is served here: reload the page",
    }
)
