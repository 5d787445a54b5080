"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "names_malformed": "names must be 16 to 64 bytes in base64url",
        "at_least_malformed": "Portcullis-At-Least is revision=NUMBER, rights=NUMBER, or one of them",
        "service_not_followed": "This decision point does not follow the service",
        "policy_too_old": "The policy at this decision point may be too old",
        "follower_not_allowed": "The account of the follower is not allowed to ask as a proxy",
        "approval_not_here": "The call needs an approval, and a follower cannot ask for one",
        "host_refused": "This follower does not accept this Host: see its setting hosts",
        "demand_not_available": "The demanded revision or rights are not available here yet",
    }
)
