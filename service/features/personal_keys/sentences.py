"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "services_make_no_keys": "A service account makes no keys of its own",
        "no_own_key": "You have no such API key",
        "scopes_needed": "must name at least one permission code",
        "key_lasts_too_long": "must be at most {most} seconds",
        "scope_of_everything": "must begin with a name: a key can't have all permissions",
        "not_an_api_key": "is no API key of this service",
        "owners_notified": "{count} owners notified",
    }
)
