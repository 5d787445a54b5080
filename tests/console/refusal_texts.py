"""The English sentences of refusals for the console: ``python -m tests.console.refusal_texts`` writes them.

The service has them in its code; the console translates them by code, and a language that lacks one shows the
English one.
"""

import json
from pathlib import Path
from typing import Final

from service.kernel.core_sentences import every_sentence
from service.web.requests.problems import refusals

FILE: Final = Path("refusals") / "sentences.json"
"""The file below the folder of a language."""
ENGLISH: Final = Path(__file__).parents[2] / "service" / "console" / "texts" / "en" / FILE


def english() -> dict[str, dict[str, str]]:
    """Return the texts that the file has to have: the titles of refusals, details and faults, by code."""
    titles = {refusal.code: refusal.title for refusal in refusals()}
    return {"SENTENCES": titles | every_sentence()}


if __name__ == "__main__":
    ENGLISH.parent.mkdir(parents=True, exist_ok=True)
    ENGLISH.write_text(json.dumps(english(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
