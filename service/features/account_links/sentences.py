"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "no_address": "The account has no email address to confirm",
        "service_without_address": "A service account has no address to confirm",
        "address_changed_meanwhile": "Your address has changed in the meantime",
        "factor_required_for_reset": "The account has a second factor, which is required too",
        "no_password_to_reset": "The user has no password to reset",
        "user_out": "The user is disabled or banned",
        "only_provider_sign_in": "The user can only sign in with a provider",
        "no_confirmed_address": "The user has no confirmed email address",
        "account_changed_meanwhile": "The account was changed in the meantime",
        "only_without_password": "Only people without a password can be invited",
        "no_address_for_invitation": "The user has no email address for the invitation",
        "links_deleted": "{links} links and {acts} acts deleted",
        "links_mailed": "{count} links mailed",
    }
)
