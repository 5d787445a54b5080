"""Reads the published test vectors that lie in this folder."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class SignedToken:
    """A token, the JWK (RFC 7517) that it claims to be signed with, and whether a verifier may accept it."""

    number: int
    valid: bool
    key: dict[str, Any]
    text: str


def signed_tokens() -> list[SignedToken]:
    """Return all tokens of ``web_signatures.json``."""
    groups = json.loads((_FOLDER / "web_signatures.json").read_text())["groups"]
    return [
        SignedToken(number, result == "valid", group["key"], text)
        for group in groups
        for number, result, _comment, text in group["tokens"]
    ]


def json_texts(kind: str) -> dict[str, bytes]:
    """Return the texts of ``json_texts.json`` whose names begin with ``kind``: ``y``, ``n`` or ``i``."""
    texts = json.loads((_FOLDER / "json_texts.json").read_text())["texts"]
    return {name: _bytes(text) for name, text in texts.items() if name.startswith(f"{kind}_")}


def _bytes(text: str | dict[str, Any]) -> bytes:
    if isinstance(text, str):
        return text.encode("latin-1")
    repeated: str = text["repeat"] * text["times"] + text.get("end", "")
    return repeated.encode("latin-1")
