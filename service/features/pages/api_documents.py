"""The documentation pages: Swagger UI, and the problem codes.

All of it is served by this service, without scripts or styles from elsewhere.
"""

import html
import inspect
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from service.errors import Refusal
from service.features.api_document.api import Shown
from service.features.console.sites import CSS, HTML, SCRIPT
from service.features.pages.links import API
from service.features.pages.plain_page import plain_page
from service.kernel.core_sentences import every_sentence
from service.web.requests.problems import ERRORS_PAGE, refusals, type_of
from service.web.requests.routes import Routes

_STATIC: Final = Path(__file__).parent / "static"


def add_docs(routes: Routes) -> None:
    """Add the pages to ``routes``. Raises RuntimeError if Swagger UI is not installed."""
    swagger_ui = _swagger_ui()
    pages: dict[str, tuple[Callable[[], bytes], str]] = {
        API: ((_STATIC / "docs.html").read_bytes, HTML),
        ERRORS_PAGE: (lambda: errors_page(refusals()), HTML),
        "/docs/assets/errors.css": ((_STATIC / "errors.css").read_bytes, CSS),
        "/docs/assets/start.js": ((_STATIC / "start.js").read_bytes, SCRIPT),
        "/docs/assets/swagger-ui.css": ((swagger_ui / "swagger-ui.css").read_bytes, CSS),
        "/docs/assets/swagger-ui-bundle.js": ((swagger_ui / "swagger-ui-bundle.js").read_bytes, SCRIPT),
    }
    for template, (make, media_type) in pages.items():
        routes.add_outside(template, Shown(make, media_type))


def errors_page(shown: Sequence[type[Refusal]]) -> bytes:
    """Return the HTML page that the ``type`` of problem documents refers to."""
    sections = "\n".join(_section(refusal) for refusal in shown)
    return plain_page(
        "Problem codes",
        f"""<p>Every refusal is an <code>application/problem+json</code> document (RFC 9457).
Clients switch on its <code>code</code>.</p>
{sections}
{_sentences()}""",
    )


def _sentences() -> str:
    """Return the codes of all details and faults, with their English texts."""
    rows = "\n".join(
        f"<tr><td><code>{code}</code></td><td>{html.escape(text)}</td></tr>"
        for code, text in sorted(every_sentence().items())
    )
    return f"""<section id="sentences">
<h2>Sentences</h2>
<p>The codes of details and of faults of fields, with the templates of their texts.</p>
<table>{rows}</table>
</section>"""


def _section(refusal: type[Refusal]) -> str:
    anchor = type_of(refusal).partition("#")[2]
    text = html.escape(" ".join((inspect.getdoc(refusal) or "").split())).replace("``", "")
    return f"""<section id="{anchor}">
<h2><code>{refusal.code}</code></h2>
<p>{refusal.status}: {html.escape(refusal.title)}</p>
<p>{text}</p>
</section>"""


def _swagger_ui() -> Path:
    # Located without an import: the package's code needs Flask, its files don't.
    spec = find_spec("flask_swagger_ui")
    if spec is None or spec.origin is None:
        raise RuntimeError("flask-swagger-ui is not installed")
    return Path(spec.origin).with_name("dist")
