"""The texts of the console as data: what a language has to have, and what is used.

The values of messages are compared by the type checker with declarations (``declarations.py``).
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from service.administration.jobs import all_jobs
from service.features.console.console import FILES, TEXTS
from service.features.console.texts import FALLBACK, bundles, languages
from service.settings import Settings
from tests.console.messages import message
from tests.console.refusal_texts import ENGLISH, english

FOLDER = FILES / TEXTS
SHIPPED = sorted(languages(FOLDER))
SCRIPTS = [path.read_text(encoding="utf-8") for path in sorted(FILES.rglob("*.js"))]

_IN_REFUSALS = (
    "ASCII After Asia At CN CONNECT CSRF Content Encoding HTTP Host IANA If Least Length METHOD Match "
    "MiB NUMBER PATH Retry Shanghai Transfer USER UTF XLS XML action application auditor auth base "
    "chunked code console constructor currentPassword cursor dev docs duration emergency enabled "
    "equivalent explain factor false for from hosts json key menuIds method names newPassword next "
    "null oidc origins others page password path permissions policy profile prototype public py "
    "python revision rights role roleCode roleId server service stage token true until url userName "
    "zh smtps ulimit Hn TLS Readiness menu INFO host CLUSTER NODES no noeviction maxmemory appendonly CONFIG "
    "save yes NTP NAME within layer object unregistered RCPT "
)
NAMES_IN_REFUSALS = set(_IN_REFUSALS.split())
"""Headers, members, settings, formats and values that the sentences of the service name."""

CATEGORIES = {"en": {"one", "other"}, "zh-CN": {"other"}}
"""The plural categories of cardinal numbers (CLDR)."""

NAMES = {
    *(
        "API",
        "CSV",
        "HEAD",
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "HTTPS",
        "ID",
        "de",
        "Benutzer",
        "IP",
        "JSON",
        "Lines",
    ),
    *(
        "OpenAPI",
        "OpenID",
        "Connect",
        "Portcullis",
        "SCIM",
        "Swagger",
        "URL",
        "UTC",
        "Cookie",
        "Mac",
        "XLSX",
        "Excel",
    ),
    *("Alt", "Ctrl", "Orders", "SMTP"),
    # Codes, commands, paths and members that stand in sentences.
    *(
        "account",
        "anyone",
        "api",
        "backup",
        "codes",
        "cut",
        "daily",
        "decide",
        "delete",
        "detail",
        "directory",
    ),
    *("endpoint", "http", "https", "layout", "login", "nobody", "off", "openapi", "orders", "paths"),
    *("portcullis", "read", "recovery", "report", "reports", "resource", "review", "self", "servers"),
    *("swagger", "system", "txt", "user", "wide"),
}
"""The Latin words that a Chinese text may have."""

Leaves = dict[str, str]


def leaves(texts: Any, at: str = "") -> Leaves:
    """Return the texts by their paths: ``USERS.genders.male``."""
    if isinstance(texts, str):
        return {at: texts}
    pairs = texts.items() if isinstance(texts, dict) else enumerate(texts)
    return {
        path: text for name, each in pairs for path, text in leaves(each, f"{at}.{name}".strip(".")).items()
    }


def texts_of(tag: str) -> dict[str, Leaves]:
    """Return the texts of a language by file."""
    folder = FOLDER / tag
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.json"))}
    del files["language.json"]
    return {name: leaves(json.loads(path.read_text(encoding="utf-8"))) for name, path in files.items()}


def bare(text: str) -> str:
    """Return a text without the names of its arguments and the keys of its choices."""
    named = re.sub(r"\{\s*\w+\s*(?:,\s*\w+\s*,?|(?=\}))", "", text, flags=re.ASCII)
    return re.sub(r"=?\w+\s+\{", "", named, flags=re.ASCII)


def arguments_of(text: str) -> set[tuple[str, str]]:
    read = message(text)
    return read.arguments if read is not None else set()


def shown_in(text: str) -> set[str]:
    """Return the names of arguments that are shown, and do not only choose between words."""
    return {
        name
        for name, kind in arguments_of(text)
        if kind in {"", "number"} or (kind == "plural" and "#" in text)
    }


def names_of(text: str) -> set[str]:
    return {name for name, _ in arguments_of(text)}


@pytest.mark.parametrize("tag", [tag for tag in SHIPPED if tag != FALLBACK])
def test_a_shipped_language_has_each_text_with_the_same_arguments_and_no_other(tag: str) -> None:
    english, others = texts_of(FALLBACK), texts_of(tag)
    faults = [f"{file}: missing" for file in english.keys() - others.keys()]
    faults += [f"{file}: unknown" for file in others.keys() - english.keys()]
    for file in english.keys() & others.keys():
        texts = others[file]
        faults += [f"{file} {path}: missing" for path in english[file].keys() - texts.keys()]
        faults += [f"{file} {path}: unknown" for path in texts.keys() - english[file].keys()]
        for path in english[file].keys() & texts.keys():
            text, other = english[file][path], texts[path]
            if (text == "") != (other == ""):
                faults.append(f"{file} {path}: empty in one language only")
            if not shown_in(text) <= names_of(other) <= names_of(text):
                faults.append(f"{file} {path}: {names_of(text)} became {names_of(other)}: {other}")
            if message(text) is not None and message(other) is None:
                faults.append(f"{file} {path}: cannot be read: {other}")
    assert faults == []


@pytest.mark.parametrize("tag", SHIPPED)
def test_a_text_with_a_brace_is_a_message_in_each_language(tag: str) -> None:
    english = texts_of(FALLBACK)
    faults = [
        f"{file} {path}: {text}"
        for file, texts in texts_of(tag).items()
        for path, text in texts.items()
        if ("{" in text) != ("{" in english[file][path]) or ("{" in text and message(text) is None)
    ]
    assert faults == []


def test_a_chinese_text_has_no_english_word_but_names_and_codes() -> None:
    typed = re.compile(r"portcullis(?: [a-z-]+)+|[A-Za-z]+(?:[-._/:=+]+\w+)+(?:\?[\w=]+)?", re.ASCII)
    words = {
        word: f"{file} {path}: {text}"
        for file, texts in texts_of("zh-CN").items()
        for path, text in texts.items()
        for word in re.findall(r"[A-Za-z]{2,}", typed.sub(" ", bare(text)))
        if word not in (NAMES | NAMES_IN_REFUSALS if file.startswith("refusals/") else NAMES)
    }
    assert words == {}


@pytest.mark.parametrize("tag", SHIPPED)
def test_plurals_have_the_categories_of_the_language_and_selects_the_same_keys(tag: str) -> None:
    english = texts_of(FALLBACK)
    for file, texts in texts_of(tag).items():
        for path, text in texts.items():
            read, first = message(text), message(english[file][path])
            for (name, kind), keys in read.keys.items() if read else ():
                if kind == "plural":
                    assert {key for key in keys if not key.startswith("=")} <= CATEGORIES[tag], (file, path)
                    assert "other" in keys, (file, path)
                elif first is not None and (name, kind) in first.keys:
                    assert keys == first.keys[name, kind], (file, path)


_SEPARATOR = re.compile(r"""join\("[,;] "\)|(?<!split)[\[(,&|?:]\s*"[,;] "(?!\w)""")
TYPED = {
    "parts/policy.js": 1,
    "features/directories/form.js": 1,
    "parts/csv.js": 1,
    "parts/workbook.js": 1,
}
"""Scripts with lines of the policy, with what people type again, and with such signs, by how often."""


def test_scripts_separate_the_items_of_lists_as_the_language_does() -> None:
    """If not: ``enumerated`` of core/locale.js, or ``LIST`` of strings/common.js."""
    separated = {
        path.relative_to(FILES).as_posix(): len(_SEPARATOR.findall(path.read_text("utf-8")))
        for path in sorted(FILES.rglob("*.js"))
    }
    assert {name: count for name, count in separated.items() if count} == TYPED


_LOOKED_UP = re.compile(r"Record<[^*]*\*/\s*\(\s*(?:/\*\* @type \{unknown\} \*/\s*\()?[TF]\.([\w.]+)")
"""What scripts look texts up in, by keys of records."""


def test_each_text_is_used() -> None:
    scripts = "\n".join(SCRIPTS)
    looked_up = tuple(f"{path}." for path in _LOOKED_UP.findall(scripts))
    read = set(re.findall(r"\.(\w+)\b", scripts)) | set(re.findall(r"[{,]\s*(\w+)\s*(?=[},])", scripts))
    unused = [
        f"{file} {path}"
        for file, texts in texts_of(FALLBACK).items()
        if not file.startswith("server/")
        for path in texts
        if not path.startswith(looked_up) and not set(path.split(".")[1:2]) <= read
    ]
    assert unused == []


def test_a_language_without_a_text_has_the_english_one(tmp_path: Path) -> None:
    for tag, texts in (
        ("en", {"A": {"one": "One", "two": ["Two", "Three"]}}),
        ("eo", {"A": {"two": ["Du"], "x": "X"}}),
    ):
        (tmp_path / tag / "start").mkdir(parents=True)
        (tmp_path / tag / "language.json").write_text('{"name": "?", "dir": "ltr", "locale": "en"}')
        (tmp_path / tag / "start" / "common.json").write_text(json.dumps(texts))
    made = {name: json.loads(data) for name, data in bundles(tmp_path).items()}
    assert made["eo.start.json"] == {"common": {"A": {"one": "One", "two": ["Du", "Three"]}}}
    assert made["en.rest.json"] == made["eo.rest.json"] == {}
    assert list(languages(tmp_path)) == ["en", "eo"]


def test_each_job_has_a_text() -> None:
    titles = {f"JOBS.titles.{job.name}": job.title for job in all_jobs(Settings())}
    kept = texts_of(FALLBACK)["jobs.json"].items()
    assert {path: text for path, text in kept if path.startswith("JOBS.titles.")} == titles


def test_each_sentence_of_the_service_has_a_text() -> None:
    """If not: python -m tests.console.refusal_texts, then translate the new ones."""
    assert json.loads(ENGLISH.read_text("utf-8")) == english()
