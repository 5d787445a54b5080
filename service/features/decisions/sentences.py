"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "public_url_unset": "The setting server.public_url is not set",
        "question_incomplete": "A question must have a subject, an action and a resource",
        "proxy_service_not_allowed": "The account of the proxy is not allowed to ask about the service "
        "{service}",
        "page_token_of_another": "page.token: The token belongs to another search",
        "page_token_unknown": "page.token: This is not a token from a response",
    }
)
