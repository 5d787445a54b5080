"""Pages for browsers on their way through the service: without script, style, picture and form."""

import html
from collections.abc import AsyncGenerator
from typing import Final

from service.web.content.streams import Stream
from service.web.messages.context import RequestContext

HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEAD: Final = "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"


def lead_on(context: RequestContext, place: str) -> Stream:
    """Return a page that leads on to ``place`` at once: a request from a page of this origin.

    So strict cookies are sent, which a redirect that comes from elsewhere does not have.
    """
    target = html.escape(place)
    page = _HEAD.format(title="Go on") + (
        f'<meta http-equiv=refresh content="0; url={target}"><p><a href="{target}">Go on</a></p></html>'
    )
    context.respond_header("Content-Security-Policy", _POLICY)
    content = page.encode()
    return Stream(_only(content), HTML, {"Referrer-Policy": "no-referrer"}, length=len(content))


def refusal_page(title: str, detail: str | None, code: str, request_id: str) -> bytes:
    """Return the page about a refusal for a person: a sentence, and the code of the problem."""
    sentences = [f"{text.rstrip('.')}." for text in dict.fromkeys((title, detail or title))]
    parts = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    known = f"<p>Code: <code>{html.escape(code)}</code>. Request: <code>{html.escape(request_id)}</code></p>"
    return (
        _HEAD.format(title="Refused") + parts + known + '<p><a href="/">Start again</a></p></html>'
    ).encode()


async def _only(page: bytes) -> AsyncGenerator[bytes, None]:
    yield page
