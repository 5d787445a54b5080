"""Code and parameters of a sentence that is stored as its text."""

from pathlib import Path

import pytest

from service.features.notices.sentences import STORED_FAULTS as STORED_MAIL_FAULTS
from service.features.notices.sentences import sentence as of_notices
from service.features.webhooks.posting import STORED_FAULTS
from service.kernel.coded_sentences import OTHER, Sentence, parameters_of
from service.kernel.core_sentences import every_sentence, sentence
from service.kernel.stored_sentences import STORED_REFUSALS, StoredSentences

FUNCTIONS = Path(__file__).resolve().parents[2] / "service" / "records" / "schema" / "functions.sql"
VALUES = {"status": 503, "seconds": "2.5", "command": "RCPT", "codes": "550 5.1.1"}


@pytest.mark.parametrize(
    ("stored", "codes"),
    [
        (STORED_FAULTS, ("receiver_", "undelivered_")),
        (STORED_MAIL_FAULTS, ("smtp_", "undelivered_", "mail_without_", "mail_link_")),
    ],
)
def test_each_fault_of_a_message_is_read_back_from_its_text(
    stored: StoredSentences, codes: tuple[str, ...]
) -> None:
    texts = {code: text for code, text in every_sentence().items() if code.startswith(codes)}
    assert len(texts) > 10
    for code, text in texts.items():
        values = {name: str(VALUES.get(name, "Gone")) for name in parameters_of(text)}
        read = stored.read(text.format_map(values))
        params = {
            name: value if isinstance(value, str) else value["message"] for name, value in read.params.items()
        }
        assert (read.code, params) == (code, values)


@pytest.mark.parametrize(
    "stated",
    [
        sentence("no_role_with_code", role="clerk"),
        sentence("invariant_violated", names="apart"),
        sentence("published_digest_differs", revision="7"),
        sentence("revision_untrusted_since", revision="7", reason=sentence("seal_differs")),
        sentence("body_fault", field="until", fault=sentence("not_in_future")),
    ],
)
def test_a_refusal_is_read_back_with_the_sentences_in_it(stated: Sentence) -> None:
    read = STORED_REFUSALS.read(str(stated))
    assert (read, read.code, read.params) == (stated, stated.code, stated.params)


def test_a_reason_in_a_fault_of_a_mail_is_a_sentence_too() -> None:
    stated = of_notices("smtp_failed", command="DATA", reason=of_notices("smtp_late"))
    assert STORED_MAIL_FAULTS.read(str(stated)).params == stated.params


def test_a_text_of_no_template_stays_as_it_is() -> None:
    read = STORED_REFUSALS.read("A text of an older version")
    assert (read, read.code) == ("A text of an older version", OTHER)
    assert STORED_REFUSALS.read(None) is None


def test_the_text_that_a_function_of_the_database_writes_has_a_code() -> None:
    text = every_sentence()["author_gone"]
    assert f"end_reason = '{text}'" in FUNCTIONS.read_text("utf-8")
    assert STORED_REFUSALS.read(text).code == "author_gone"
