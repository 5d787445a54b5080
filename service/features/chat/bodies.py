"""Bodies of messages: what a chat gets of a notice, in the form of each kind of receiver.

Names were chosen by users, so no receiver may read them as markup: texts of people stand in elements without
markup, and the one text that Slack always parses is escaped.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from service.features.notices.letters import page_of, texts_of
from service.kernel.clock import rfc3339
from service.settings.chats import ChatFormat

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# Mattermost has no escapes for mentions, so these become their full-width forms.
_MARKUP: Final = str.maketrans({letter: chr(ord(letter) + 0xFEE0) for letter in "@#[]`~"})
_CARD: Final = "application/vnd.microsoft.card.adaptive"
_SCHEMA: Final = "http://adaptivecards.io/schemas/adaptive-card.json"
_MOST_TEXT: Final = 2_000  # characters; Slack takes 3,000 in an element


class Message(NamedTuple):
    """A message: its subject, its text, and the link to the console, None without one."""

    subject: str
    text: str
    link: str | None


def message_of(kind: str, facts: Mapping[str, str], site: str, language: str, request: str | None) -> Message:
    """Return the message of a notice: the words of its mail. KeyError for an unknown kind."""
    words = texts_of(language).kinds[kind]
    known = {**facts, "site": site}
    # The message has the link beside its text.
    text = "\n\n".join(part.format_map(known) for part in words.paragraphs if "{page}" not in part)
    link = None if request is None else page_of(kind, request, site)
    return Message(words.subject, text[:_MOST_TEXT], link)


def body_of(form: ChatFormat, kind: str, message: Message, at: datetime) -> bytes:
    """Return the body of a request that posts ``message``; ``at`` is the time of the notice."""
    made = {"slack": _slack, "teams": _teams, "standard": _standard}[form](kind, message, at)
    return json.dumps(made, ensure_ascii=False).encode()


def _slack(_kind: str, message: Message, _at: datetime) -> Any:
    """Return the payload of an incoming webhook of Slack, or of Mattermost, with blocks."""
    blocks: list[Any] = [
        {"type": "header", "text": {"type": "plain_text", "text": message.subject, "emoji": False}},
        {"type": "section", "text": {"type": "plain_text", "text": message.text, "emoji": False}},
    ]
    if message.link is not None:
        blocks.append(
            {"type": "section", "text": {"type": "mrkdwn", "text": f"<{message.link}>", "verbatim": True}}
        )
    # Slack parses the fallback as mrkdwn. Mattermost shows it alone, and reads Markdown and mentions in it.
    fallback = f"{message.subject}: {message.text}".translate(_ESCAPES).translate(_MARKUP)
    if message.link is not None:
        fallback += f"\n<{message.link}>"
    return {"text": fallback, "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def _teams(_kind: str, message: Message, _at: datetime) -> Any:
    """Return the payload of a Teams workflow "when a webhook request is received": an Adaptive Card."""
    text = [{"type": "TextRun", "text": message.text}]  # a TextBlock would read Markdown
    card: dict[str, Any] = {
        "$schema": _SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": message.subject, "weight": "Bolder", "wrap": True},
            {"type": "RichTextBlock", "inlines": text},
        ],
    }
    if message.link is not None:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Portcullis", "url": message.link}]
    return {"type": "message", "attachments": [{"contentType": _CARD, "contentUrl": None, "content": card}]}


def _standard(kind: str, message: Message, at: datetime) -> Any:
    """Return the payload of a Standard Webhook."""
    data = {"subject": message.subject, "text": message.text, "link": message.link}
    return {"type": f"notice.{kind}", "timestamp": rfc3339(at), "data": data}
