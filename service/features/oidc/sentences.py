"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "provider_incomplete": "The provider is not configured completely",
        "provider_answer_invalid": "The response of the provider is invalid",
        "provider_silent": "The provider did not respond recently",
        "no_such_provider": "There is no such provider",
        "subject_linked": "This subject is already linked to another account",
        "not_in_cookie_mode": "must be omitted in cookie mode",
        "not_a_challenge": "must be the S256 challenge of a verifier",
        "next_not_allowed": "must be a path of this service, or a URL of one of oidc.next_origins",
    }
)
