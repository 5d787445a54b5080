"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "account_being_changed": "The account is being changed",
        "key_expired": "The API key has expired",
        "key_lookup_late": "The API key can't be looked up in time",
        "too_many_key_lookups": "Too many API keys are being looked up",
        "only_services_have_keys": "Only a service account has API keys",
        "too_many_keys": "The account has {most} API keys: delete some of them first",
        "no_such_key": "The account has no such API key",
        # Findings
        "key_of_user": "{key} of {user} ({time})",
        "keys_expire": "{count, plural, one {# key expires} other {# keys expire}} within {days} days: "
        "{keys}",
        "replace_keys": "make new keys for these accounts, and give them to their programs",
        "no_key_expires": "none expires within {days} days",
        "keys_deleted": "{count} API keys deleted",
        "keys_expire_soon": "{count} API keys expire within {days} days",
    }
)
