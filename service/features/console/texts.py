"""The texts of the console: a folder of JSON files for each language, sent as three bundles.

``start`` has the files below ``start``, which the page that asks for a login needs; ``rest`` has those
beside it. ``refusals`` has the sentences of the service by code, for languages other than English. Files
below ``server`` are for mails: no browser gets them. A text that a language does not have is the English one.
"""

import json
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

FALLBACK: Final = "en"
BUNDLES: Final = ("start", "rest", "refusals")
"""The names of the bundles of a language."""

_LANGUAGE: Final = "language.json"
_OWN: Final = ("home", "account", "notices", "devices", "logins")
"""The pages of the user's own account, by the names of their titles."""

Texts = dict[str, Any]


def languages(folder: Path) -> dict[str, Texts]:
    """Return name, direction and locale of each language in ``folder``, by tag, English first."""
    tags = sorted(
        (file.parent.name for file in folder.glob(f"*/{_LANGUAGE}")), key=lambda tag: (tag != FALLBACK, tag)
    )
    return {tag: _read(folder / tag / _LANGUAGE) for tag in tags}


def bundles(folder: Path) -> dict[str, bytes]:
    """Return the bundles of all languages as JSON, by file name, such as ``zh-CN.start.json``."""
    english = _files(folder / FALLBACK)
    made = {}
    all_files = {tag: _over(english, _files(folder / tag)) for tag in languages(folder)}
    for tag, files in all_files.items():
        parts: dict[str, Texts] = {name: {} for name in BUNDLES}
        for path, texts in files.items():
            folder_of, _, name = path.rpartition("/")
            bundle = folder_of or "rest"
            if bundle in parts:
                parts[bundle][name] = texts
        others = [_titles(each) for other, each in all_files.items() if other != tag]
        if titles := _titles(files):
            parts["rest"]["aliases"] = {titles[name]: [each[name] for each in others] for name in titles}
        for name, texts in parts.items():
            text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
            made[f"{tag}.{name}.json"] = text.encode()
    return made


def _titles(files: dict[str, Texts]) -> dict[str, str]:
    """Return the titles of pages, by which they are searched for in all languages."""
    frame = files.get("frame", {})
    named: dict[str, str] = {**frame.get("ENTRIES", {})}
    return named | {name: text for name in _OWN if (text := frame.get("FRAME", {}).get(name))}


def _files(folder: Path) -> dict[str, Texts]:
    """Return the texts of a language by the paths of their files, such as ``start/form``."""
    paths = sorted(path for path in folder.rglob("*.json") if path.name != _LANGUAGE)
    return {path.relative_to(folder).with_suffix("").as_posix(): _read(path) for path in paths}


def _over(texts: Any, others: Any) -> Any:
    """Return ``texts`` with those of ``others`` in their places; what only ``others`` has is left out."""
    if isinstance(texts, dict) and isinstance(others, dict):
        return {name: _over(text, others.get(name)) for name, text in texts.items()}
    if isinstance(texts, list) and isinstance(others, list):
        return [_over(text, other) for text, other in zip_longest(texts, others[: len(texts)])]
    return others if isinstance(others, str) and isinstance(texts, str) else texts


def _read(file: Path) -> Texts:
    texts: Texts = json.loads(file.read_text(encoding="utf-8"))
    return texts
