"""Registrations and assertions of passkeys, and the authenticator of these tests."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

import pytest
import webauthn
from fido2.server import Fido2Server
from fido2.webauthn import PublicKeyCredentialRpEntity
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from service.features.second_factors.passkeys import (
    NewPasskey,
    PasskeyRefusedError,
    RelyingParty,
    challenge_of,
    id_of,
)
from tests.support.authenticator import BE, BS, UP, UV, Algorithm, Passkey, bytes_of, cose_key, text_of
from tests.support.cases import with_each

ORIGIN = "https://id.example.com:8443"
RP_ID = "id.example.com"
CHALLENGE = bytes(range(32))
HANDLE = b"h" * 32
ALGORITHMS: list[Algorithm] = ["ES256", "EdDSA", "RS256"]


@pytest.fixture(scope="module")
def party() -> RelyingParty:
    party = RelyingParty.of(ORIGIN)
    assert party is not None
    return party


def creation(party: RelyingParty, challenge: bytes = CHALLENGE) -> dict[str, Any]:
    return party.creation_options(
        challenge, user_handle=HANDLE, user_name="heron", display_name="Heron", known=[]
    )


def registered(party: RelyingParty, passkey: Passkey, **other: Any) -> NewPasskey:
    return party.registered(passkey.register(creation(party), **other), CHALLENGE, user_handle=HANDLE)


@with_each("algorithm", ALGORITHMS)
@with_each("attestation", ["none", "packed"])
def test_the_authenticator_of_the_tests_is_accepted_by_two_libraries(
    algorithm: Algorithm, attestation: Any
) -> None:
    passkey = Passkey(RP_ID, ORIGIN, algorithm, counter=7)
    library = Fido2Server(PublicKeyCredentialRpEntity(id=RP_ID, name="x"))
    options, state = library.register_begin({"id": HANDLE, "name": "h"}, challenge=CHALLENGE)  # type: ignore[arg-type]
    answer = passkey.register(json.loads(json.dumps(dict(options)))["publicKey"], attestation)
    attested = library.register_complete(state, answer).credential_data
    assert attested is not None
    verified = webauthn.verify_registration_response(
        credential=answer,
        expected_challenge=CHALLENGE,
        expected_rp_id=RP_ID,
        expected_origin=ORIGIN,
        require_user_verification=True,
    )
    assert verified.credential_id == passkey.id
    requested, state = library.authenticate_begin([attested], challenge=CHALLENGE)
    assertion = passkey.sign_in(json.loads(json.dumps(dict(requested)))["publicKey"])
    library.authenticate_complete(state, [attested], assertion)
    asserted = webauthn.verify_authentication_response(
        credential=assertion,
        expected_challenge=CHALLENGE,
        expected_rp_id=RP_ID,
        expected_origin=ORIGIN,
        credential_public_key=verified.credential_public_key,
        credential_current_sign_count=verified.sign_count,
        require_user_verification=True,
    )
    assert asserted.new_sign_count == 8


@with_each("algorithm", ALGORITHMS)
def test_a_passkey_registers_and_asserts(party: RelyingParty, algorithm: Algorithm) -> None:
    passkey = Passkey(RP_ID, ORIGIN, algorithm, counter=7)
    new = registered(party, passkey, attestation="packed")
    assert (new.stored.credential_id, new.sign_count) == (passkey.id, 7)
    assert new.stored.transports == ("hybrid", "internal")
    options = party.request_options(CHALLENGE, [new.stored])
    assert [bytes_of(known["id"]) for known in options["allowCredentials"]] == [passkey.id]
    assertion = passkey.sign_in(options)
    assert (id_of(assertion), challenge_of(assertion)) == (passkey.id, CHALLENGE)
    assert party.asserted(assertion, CHALLENGE, new.stored, discovered=True) == 8


def test_options_ask_for_a_verified_user_and_name_this_service_alone(party: RelyingParty) -> None:
    options = creation(party)
    assert options["rp"]["id"] == party.request_options(CHALLENGE)["rpId"] == RP_ID
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["attestation"] == "none"
    assert [kind["alg"] for kind in options["pubKeyCredParams"]] == [-8, -7, -257]
    assert party.request_options(CHALLENGE)["userVerification"] == "required"
    assert "allowCredentials" not in party.request_options(CHALLENGE)


FAULTS: Mapping[str, Mapping[str, Any]] = {
    "another origin": {"origin": "https://id.example.com"},
    "a subdomain": {"origin": "https://x.id.example.com:8443"},
    "plain HTTP": {"origin": "http://id.example.com:8443"},
    "a frame of another origin": {"crossOrigin": True},
    "a frame, said otherwise": {"crossOrigin": 1},
    "a page around it": {"topOrigin": "https://evil.example"},
    "another challenge": {"challenge": text_of(b"x" * 32)},
    "another type": {"type": "payment.get"},
}


@with_each("fault", FAULTS)
def test_what_the_browser_says_must_fit(party: RelyingParty, fault: str) -> None:
    with pytest.raises(PasskeyRefusedError):
        registered(party, Passkey(RP_ID, ORIGIN), **FAULTS[fault])
    passkey = Passkey(RP_ID, ORIGIN)
    stored = registered(party, passkey).stored
    assertion = passkey.sign_in(party.request_options(CHALLENGE), **FAULTS[fault])
    with pytest.raises(PasskeyRefusedError):
        party.asserted(assertion, CHALLENGE, stored, discovered=False)


@pytest.mark.parametrize(
    "flags", [UP, UV, UP | UV | BS], ids=["not verified", "nobody there", "backed up, and not eligible"]
)
def test_flags_of_the_authenticator_must_fit(party: RelyingParty, flags: int) -> None:
    with pytest.raises(PasskeyRefusedError):
        registered(party, Passkey(RP_ID, ORIGIN, flags=flags))
    passkey = Passkey(RP_ID, ORIGIN)
    stored = registered(party, passkey).stored
    passkey.flags = flags
    with pytest.raises(PasskeyRefusedError):
        party.asserted(passkey.sign_in(party.request_options(CHALLENGE)), CHALLENGE, stored, discovered=False)


def test_eligibility_for_backups_never_changes(party: RelyingParty) -> None:
    passkey = Passkey(RP_ID, ORIGIN, flags=UP | UV | BE | BS)
    stored = registered(party, passkey).stored
    options = party.request_options(CHALLENGE)
    assert party.asserted(passkey.sign_in(options), CHALLENGE, stored, discovered=False) == 0
    passkey.flags = UP | UV
    with pytest.raises(PasskeyRefusedError):
        party.asserted(passkey.sign_in(options), CHALLENGE, stored, discovered=False)


def test_answers_for_others_are_refused(party: RelyingParty) -> None:
    passkey, another = Passkey(RP_ID, ORIGIN), Passkey(RP_ID, ORIGIN)
    stored, options = registered(party, passkey).stored, party.request_options(CHALLENGE)
    registered(party, another)
    another.id = passkey.id  # signed with another key
    with pytest.raises(PasskeyRefusedError):
        party.asserted(another.sign_in(options), CHALLENGE, stored, discovered=False)
    elsewhere = Passkey("example.com", ORIGIN)
    with pytest.raises(PasskeyRefusedError):
        registered(party, elsewhere)
    for handle, discovered in [(b"z" * 32, False), (b"z" * 32, True), (b"", True)]:
        with pytest.raises(PasskeyRefusedError):
            party.asserted(
                passkey.sign_in(options, user_handle=handle), CHALLENGE, stored, discovered=discovered
            )
    renamed = passkey.sign_in(options) | {"id": text_of(secrets.token_bytes(32))}
    with pytest.raises(PasskeyRefusedError):
        party.asserted(renamed, CHALLENGE, stored, discovered=False)


def test_a_key_of_an_algorithm_that_was_not_offered_is_refused(
    party: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.features.second_factors.passkeys.ALGORITHMS", (-8, -257))
    with pytest.raises(PasskeyRefusedError):
        registered(party, Passkey(RP_ID, ORIGIN))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("made_as", [*ALGORITHMS, "P-384", "short", "no point"])
def test_a_key_that_does_not_fit_its_algorithm_is_refused(
    party: RelyingParty, algorithm: Algorithm, made_as: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if made_as == algorithm:
        registered(party, Passkey(RP_ID, ORIGIN, algorithm))
        return
    passkey = Passkey(RP_ID, ORIGIN, algorithm)
    other = Passkey(RP_ID, ORIGIN, made_as if made_as in ALGORITHMS else algorithm)
    changed = cose_key(other.key) | {3: cose_key(passkey.key)[3]}
    if made_as == "P-384":
        changed[-1] = 2 if algorithm != "RS256" else b"\x01" * 128
    elif made_as == "short":
        changed[-1 if algorithm == "RS256" else -2] = b"\x01"
    elif made_as == "no point":
        changed[-2 if algorithm != "RS256" else -1] = b"\xff" * 33 if algorithm != "RS256" else b""
    monkeypatch.setattr("tests.support.authenticator.cose_key", lambda _: changed)

    with pytest.raises(PasskeyRefusedError):
        registered(party, passkey)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ("id", "rawId", "type", "response", "clientExtensionResults", "authenticatorAttachment")
PARTS = ("clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle", "transports")


@given(member=st.sampled_from(MEMBERS + PARTS), value=JSON, noise=st.binary(max_size=60))
def test_any_other_text_is_refused_and_nothing_worse(member: str, value: Any, noise: bytes) -> None:
    party = RelyingParty.of(ORIGIN)
    assert party is not None
    passkey = Passkey(RP_ID, ORIGIN, "EdDSA")
    good = passkey.register(creation(party))
    stored = party.registered(good, CHALLENGE, user_handle=HANDLE).stored
    for changed in (value, text_of(noise)):
        for whole in (good, passkey.sign_in(party.request_options(CHALLENGE))):
            answer = whole | {"response": dict(whole["response"])}
            (answer["response"] if member in PARTS else answer)[member] = changed
            id_of(answer)
            challenge_of(answer)
            for check in (
                lambda answer=answer: party.registered(answer, CHALLENGE, user_handle=HANDLE),
                lambda answer=answer: party.asserted(answer, CHALLENGE, stored, discovered=True),
            ):
                try:
                    check()
                except PasskeyRefusedError:
                    continue
                # What is no part of the proof may be anything.
                assert member in {"clientExtensionResults", "authenticatorAttachment", *PARTS[1:]}


@with_each(
    ("url", "id_and_origin"),
    [
        ("", None),
        ("https://192.0.2.7", None),
        ("https://[2001:db8::7]:8443", None),
        ("http://localhost:8080", ("localhost", "http://localhost:8080")),
        ("https://id.example.com", ("id.example.com", "https://id.example.com")),
    ],
)
def test_the_relying_party_is_the_host_of_the_public_url(
    url: str, id_and_origin: tuple[str, str] | None
) -> None:
    party = RelyingParty.of(url)
    assert (None if party is None else (party.id, party.origin)) == id_and_origin


def test_another_passkey_of_the_user_is_left_out_when_one_is_made(party: RelyingParty) -> None:
    stored = registered(party, Passkey(RP_ID, ORIGIN)).stored
    options = party.creation_options(
        CHALLENGE, user_handle=HANDLE, user_name="heron", display_name="Heron", known=[stored]
    )
    [left_out] = options["excludeCredentials"]
    assert left_out["id"] == text_of(stored.credential_id)
    assert left_out["transports"] == ["hybrid", "internal"]
    bare = structs.replace(stored, transports=())
    [named] = party.request_options(CHALLENGE, [bare])["allowCredentials"]
    assert named.get("transports") is None
