"""Answers to challenges for a second factor, in request bodies."""

from typing import Annotated, Any

from msgspec import Meta

from service.authn.second_factors import Answer, Method
from service.errors import ValidationFailed
from service.features.second_factors.sentences import sentence

Code = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        examples=["287082"],
        description="Six digits of an app, or a recovery code.",
    ),
]
Credential = Annotated[
    dict[str, Any],
    Meta(description="The browser's result for `publicKey`, as JSON (WebAuthn Level 3, `toJSON()`)."),
]
PublicKey = Annotated[
    dict[str, Any],
    Meta(
        description="Options for the browser (WebAuthn Level 3, `PublicKeyCredentialRequestOptionsJSON`).",
        examples=[{"challenge": "uSQ3…", "rpId": "id.example.com", "userVerification": "required"}],
    ),
]
Expiry = Annotated[int, Meta(ge=1, examples=[300], description="Seconds for the answer.")]


def answer_in(method: Method, code: str | None, credential: dict[str, Any] | None) -> Answer:
    """Return the answer in a body; ``ValidationFailed`` if it is missing."""
    if method == "passkey":
        if credential is None:
            raise ValidationFailed(("credential", sentence("missing")))
        return Answer(method, credential=credential)
    if code is None:
        raise ValidationFailed(("code", sentence("missing")))
    return Answer(method, code)
