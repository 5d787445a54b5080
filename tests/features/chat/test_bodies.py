"""What a chat gets of a notice: the words of its mail, and names as plain text."""

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from service.features.chat.bodies import body_of, message_of
from service.features.notices.letters import FORMS, has_link
from service.settings.chats import KINDS, ChatFormat
from tests.support.cases import with_each

SITE = "https://admin.example.com"
AT = datetime(2026, 11, 30, 17, tzinfo=UTC)
HOSTILE = "<!channel> <@U1|x> <https://evil.example|ok> & *b* [a](https://evil.example) @here"
FACTS = {
    **dict.fromkeys(("account", "role", "title"), HOSTILE),
    **dict.fromkeys(("request", "review", "revision"), "7"),
    **dict.fromkeys(("until", "user_name", "state"), "-"),
}


def made(form: ChatFormat, kind: str = "access_request_made", language: str = "en") -> Any:
    return json.loads(body_of(form, kind, message_of(kind, FACTS, SITE, language, "7"), AT))


def texts(value: Any, parsed: bool) -> list[str]:
    """Return the texts of a body that its receiver reads as markup, or those that it shows as they are."""
    if isinstance(value, list):
        return [text for each in value for text in texts(each, parsed)]
    if not isinstance(value, dict):
        return []
    own = value.get("text")
    is_plain = value.get("type") in ("plain_text", "TextRun")
    mine = [own] if isinstance(own, str) and is_plain is not parsed else []
    return mine + [text for each in value.values() for text in texts(each, parsed)]


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_a_name_is_never_markup(form: ChatFormat) -> None:
    body = made(form)
    assert any(HOSTILE in text for text in texts(body, parsed=False))
    for text in texts(body, parsed=True):
        assert "<!" not in text
        assert "<@" not in text
        assert "<https://evil" not in text
        assert "](" not in text or form == "slack"


def test_mattermost_which_reads_markdown_in_the_fallback_gets_no_mention_and_the_link() -> None:
    text, _, link = made("slack")["text"].rpartition("\n")
    assert not set("@#[]`~<>") & set(text)
    assert link == f"<{SITE}/console/#/access-requests/7>"


@with_each("form", get_args(ChatFormat))
@with_each("kind", KINDS)
@with_each("language", ["en", "zh-CN"])
def test_each_kind_has_a_message_with_the_link_and_no_facts_but_those_of_its_mail(
    form: ChatFormat, kind: str, language: str
) -> None:
    body = json.dumps(made(form, kind, language))
    views = {"review": "reviews", "policy": "policy/revisions"}
    view = views.get(kind.partition("_")[0], "access-requests")
    assert body.count(f"{SITE}/console/#/{view}/7") == (2 if form == "slack" else 1)
    assert kind in FORMS
    assert not has_link(kind)  # a channel never gets a link that opens an account


def test_a_request_can_not_lead_elsewhere() -> None:
    message = message_of("access_request_made", FACTS, SITE, "en", "7/../..|x> <!channel>")
    assert message.link == f"{SITE}/console/#/access-requests/7%2F..%2F..%7Cx%3E%20%3C%21channel%3E"


def test_a_long_text_is_cut() -> None:
    message = message_of("access_request_made", FACTS | {"role": "x" * 9000}, SITE, "en", None)
    assert (len(message.text), message.link) == (2000, None)
