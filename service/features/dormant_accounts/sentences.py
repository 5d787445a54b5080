"""The sentences of findings of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "dormant_accounts": "{count} accounts were not used for {days} days: {names}",
        "dormant_are_disabled": "the job dormant-accounts disables them, but never the last administrator",
        "dormancy_off": "auth.dormant_days is 0: dormant accounts are not disabled",
        "no_dormant_account": "every account was used within {days} days, or its last use is unknown",
        "dormancy_is_off": "auth.dormant_days is 0",
        "dormant_settled": "{notified} accounts notified, {disabled} disabled, {kept} kept",
    }
)
