"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "address_unset": "The address of this service is not set: server.public_url",
        "factors_of_service": "A service account has API keys, and no second factors",
        "too_many_factors": "You have {most} factors: remove some of them first",
        "no_waiting_app": "No app with that id waits for its code: begin again",
        "app_code_wrong": "is not the code that the app shows now",
        "app_code_used": "This code, or a later one, was used already. Wait for the next one",
        "passkey_enrolled": "This passkey is enrolled already",
        "recovery_codes_alone": "Recovery codes need another second factor first",
        "no_such_factor": "You have no such factor",
        "prove_factor": "Prove your second factor",
        "stronger_session": "This session rests on a stronger proof",
        "address_for_passkeys": "Passkeys need the address of this service: the operator sets "
        "server.public_url",
        "answer_to_other_options": "does not answer the latest options",
        # Findings
        "administrators_without_factor": "{count} of {all} users who hold * have no second factor: {names}",
        "new_administrators_without_factor": "{count} of {all} users who hold * have no second factor: "
        "{names}; their accounts are new",
        "enrol_factors": "have them enrol one: docs/guides/second-factors.md",
        "factors_of_administrators": "all {count} users who hold * have a second factor",
        "no_factor_key": "there is no key: see auth.factor_key",
        "secrets_resealed": "{sealed} secrets sealed with the current key, {unknown} with an unknown key",
    }
)
