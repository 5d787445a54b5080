"""The sentences of refusals and faults as tables: code, parameters and English text."""

from __future__ import annotations

from collections.abc import Mapping

from service.kernel.coded_sentences import parameters_of
from service.kernel.core_sentences import sentence, sentences_of_features


def markdown() -> str:
    """Return the tables, that of the core first."""
    places = {"The core": sentence.texts} | sentences_of_features()
    return "\n\n".join(f"### {title}\n\n{_table(texts)}" for title, texts in places.items())


def _table(texts: Mapping[str, str]) -> str:
    lines = ["| Code | Parameters | Text |", "| --- | --- | --- |"]
    for code, template in sorted(texts.items()):
        names = ", ".join(f"`{name}`" for name in parameters_of(template))
        text = template.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| `{code}` | {names} | {text} |")
    return "\n".join(lines)
