"""The console in Chinese, in a pseudo-language from right to left, and in English in browsers of others."""

import json
import re
from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from string import ascii_letters
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Error, Response, Route, expect

from service.features.console.console import CONSOLE
from service.kernel.coded_sentences import OTHER
from tests.console.hostile import store_long
from tests.console.house import House
from tests.console.messages import message
from tests.console.states import SIZES, faults, paths, show, states
from tests.console.test_texts import texts_of
from tests.console.visits import Visit, new_context, script, settled
from tests.support.cases import with_each
from tests.support.chromium import chinese_font
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

CHINESE: Final = "zh-CN"
READER: Final = "lingua"
JSON: Final = r"application/(?:problem\+)?json"

WORD: Final = re.compile(r"[A-Za-z]{2,}")
PHRASE: Final = re.compile(r"(?<![A-Za-z])(?=([A-Za-z]{2,}(?: [A-Za-z]{2,}){2})(?![A-Za-z]))")
UNITS: Final = {
    *("and", "or", "day", "days", "hour", "hours", "min", "minute", "minutes", "second", "seconds", "ago"),
    *("in", "now", "week", "kb", "mb", "gb", "byte", "bytes", "sec", "yesterday", "tomorrow", "last", "next"),
}
MONTHS_AND_DAYS: Final = {name.lower() for name in (*month_name, *month_abbr, *day_name, *day_abbr)}
"""What formats of the browser write in English, which has no pseudo-language."""
ADDRESSED: Final = {
    *("http", "https", "utc", "gmt", "europe", "berlin", "asia", "shanghai", "chromium", "chrome", "linux"),
    *("portcullis", "english"),
}
"""Names that come from the browser and the address, and the product's."""


def words_in(text: str) -> set[str]:
    """Return the words in Latin letters, and each three in a row, in lower case.

    Common words are in the names of some record: only three in a row are those of a sentence.
    """
    return {word.lower() for word in (*WORD.findall(text), *PHRASE.findall(text))}


SEEDED: Final = {text for text in texts_of("en")["seed.json"].values() if " " in text}


def untranslated(value: Any) -> Any:
    """Return an answer without what the page translates: sentences with codes, and names of the seed."""
    if isinstance(value, list):
        return [untranslated(each) for each in value]
    if isinstance(value, str) and value in SEEDED:
        return ""
    if not isinstance(value, dict):
        return value
    return {
        name: untranslated(each)
        for name, each in value.items()
        if value.get(f"{name}Code") in (None, OTHER)
        and f"{name[:-1]}Sentences" not in value
        and not (name == "message" and value.get("code") not in (None, OTHER))
    }


class Heard:
    """The words of all that the service has answered: names, codes, and texts without a code.

    On an ``english`` page, texts with a code too.
    """

    def __init__(self, visit: Visit, *, english: bool = False) -> None:
        """Listen to ``visit``."""
        self.english = english
        self._answers: list[Response] = []
        self.words: set[str] = set()
        visit.hear("response", lambda answer: self._answers.append(answer))  # noqa: PLW0108 - it has to have attributes

    def read(self) -> set[str]:
        """Return the words so far."""
        for answer in self._answers:
            endless = answer.url.endswith("/api/events/mine")
            if "/api/" in answer.url and answer.status != 204 and not endless:
                with suppress(Error):  # a browser forgets what a document got that it has left
                    text = answer.text()
                    if not self.english and re.match(JSON, answer.headers.get("content-type", "")):
                        text = json.dumps(untranslated(json.loads(text)), ensure_ascii=False)
                    self.words |= words_in(re.sub(r"([a-z])([A-Z])", r"\1 \2", text)) | words_in(text)
        self._answers.clear()
        return self.words


def foreign(visit: Visit, heard: Heard, known: set[str]) -> list[str]:
    """Return the texts of the page with a word that is neither in ``known`` nor the service's."""
    given = known | heard.read() | words_in(visit.page.url) | ADDRESSED
    texts: list[str] = visit.page.evaluate(script("languages", "texts()"))
    missing = {text: words_in(text) - given for text in texts}
    if heard.english:  # whose lists the browser joins by a word
        missing = {text: {word for word in rest if " " not in word} for text, rest in missing.items()}
    return sorted({f"{text[:80]} [{', '.join(rest)}]" for text, rest in missing.items() if rest})


@pytest.fixture
def chinese(house: House) -> Iterator[Visit]:
    """A visit of an administrator whose language is Chinese, in an English browser."""
    if not house.items("user", userName=READER):
        house.member(READER, "*")
    body = {"nickName": READER, "language": CHINESE, "timeZone": "Asia/Shanghai"}
    with new_context(house) as context:
        visit = Visit(house, context)
        answer = house.ask(READER, "PUT", "/api/user/profile", body)
        assert answer.status_code == 200, answer.text
        yield visit
        assert visit.troubles == []


def chinese_words() -> set[str]:
    """Return the Latin words of the Chinese texts: names, codes and examples."""
    return {
        word for texts in texts_of(CHINESE).values() for text in texts.values() for word in words_in(text)
    }


def test_the_sign_in_page_names_each_language_in_itself_and_keeps_the_choice(house: House) -> None:
    with new_context(house, locale="zh-SG") as context:
        visit = Visit(house, context)
        page = visit.page
        page.goto(CONSOLE)
        expect(page.get_by_role("heading", level=1)).to_have_text("登录")
        expect(page.locator("html")).to_have_attribute("lang", CHINESE)
        choice = page.get_by_role("combobox", name="语言")
        assert choice.locator("option").all_inner_texts() == ["English", "简体中文"]
        choice.select_option("en")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        expect(page.locator("html")).to_have_attribute("lang", "en")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        page.get_by_role("combobox", name="Language").select_option(CHINESE)
        expect(page.get_by_role("heading", level=1)).to_have_text("登录")
        visit.axe()
        assert visit.troubles == []


def test_the_language_of_the_account_is_shown_after_a_sign_in_with_no_word_of_another(
    chinese: Visit,
) -> None:
    heard = Heard(chinese)
    chinese.page.goto(CONSOLE)
    chinese.sign_in(READER)
    expect(chinese.page.locator("html")).to_have_attribute("lang", CHINESE)
    known = chinese_words()
    wrong: list[str] = []
    for path in ("/", "/users", "/roles/1", "/menus", "/account", "/logs/operations", "/policy/revisions"):
        show(chinese.page, path)
        wrong += [f"{path}: {text}" for text in foreign(chinese, heard, known)]
    assert not wrong, "\n".join(wrong)


def chinese_states(visit: Visit, house: House) -> Iterator[str]:
    """Show all that the console shows in Chinese, with the longest names, and yield what is shown."""
    ids = store_long(house)
    visit.page.goto(CONSOLE)
    visit.sign_in(READER)
    pressed = set[tuple[str, str]]()
    for path in paths(ids):
        yield from states(visit, path, pressed)


@pytest.mark.extended
@pytest.mark.timeout(3_600)
def test_no_view_menu_or_dialog_has_a_word_of_another_language(chinese: Visit, house: House) -> None:
    heard, known = Heard(chinese), chinese_words()
    wrong = [
        f"{state}: {text}"
        for state in chinese_states(chinese, house)
        for text in foreign(chinese, heard, known)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
@pytest.mark.timeout(3_600)
def test_no_view_menu_or_dialog_cuts_a_chinese_text(chinese: Visit, house: House) -> None:
    chinese_font()
    widths = [size["width"] for size in SIZES]
    broken = [fault for state in chinese_states(chinese, house) for fault in faults(chinese, state, widths)]
    assert not broken, "\n".join(broken)


ACCENTS: Final = str.maketrans(ascii_letters, "áƀçđéƒĝĥíĵķļḿñóṕʠŕšťúṽŵẋýžÁɃÇĐÉƑĜĤÍĴĶĻḾÑÓṔꝖŔŠŤÚṼŴẊÝŽ")


def pseudo(text: str) -> str:
    """Return a text with accents and 40 % longer, its arguments as they are."""
    if message(text) is None:
        return text.translate(ACCENTS)
    parts = re.split(r"([{}])", text)
    depth, made, letters = 0, "", 0
    for part in parts:
        depth += (part == "{") - (part == "}")
        is_text = depth % 2 == 0 and part not in {"{", "}"}
        letters += len(part) if is_text else 0
        made += part.translate(ACCENTS) if is_text else part
    return made + " ŧŧŧŧŧ" * (letters * 4 // 60) if text.strip() else text


def pseudo_of(texts: Any) -> Any:
    """Return texts in the pseudo-language."""
    if isinstance(texts, dict):
        return {name: pseudo_of(each) for name, each in texts.items()}
    return [pseudo_of(each) for each in texts] if isinstance(texts, list) else pseudo(texts)


@contextmanager
def spoken_backwards(house: House) -> Iterator[Visit]:
    """Open a browser whose English is the pseudo-language, from right to left."""

    def bundle(route: Route) -> None:
        route.fulfill(response=(answer := route.fetch()), json=pseudo_of(answer.json()))

    def entrance(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(
            response=answer, body=answer.text().replace("dir&quot;:&quot;ltr", "dir&quot;:&quot;rtl")
        )

    with new_context(house) as context:
        visit = Visit(house, context)
        visit.page.route(re.compile(r"/texts/en\.\w+\.json$"), bundle)
        visit.page.route(re.compile(rf"{CONSOLE}$"), entrance)
        visit.page.goto(CONSOLE)
        yield visit
        assert visit.troubles == []


@pytest.mark.extended
@pytest.mark.timeout(3_600)
def test_no_text_is_written_in_a_script_and_no_layout_breaks_longer_and_from_right_to_left(
    house: House,
) -> None:
    ids = store_long(house)
    known, pressed = UNITS | MONTHS_AND_DAYS | chinese_words(), set[tuple[str, str]]()
    broken: list[str] = []
    with spoken_backwards(house) as visit:
        heard = Heard(visit, english=True)
        sign_in_backwards(visit)
        expect(visit.page.locator("html")).to_have_attribute("dir", "rtl")
        for path in paths(ids):
            for state in states(visit, path, pressed):
                broken += [f"{state}: {text}" for text in foreign(visit, heard, known)]
                broken += faults(visit, state, [size["width"] for size in SIZES])
    assert not broken, "\n".join(broken)


def sign_in_backwards(visit: Visit) -> None:
    """Sign in by the page, whose words nobody reads."""
    page = visit.page
    page.locator("input[name=userName]").fill(ADMINISTRATOR)
    page.locator("input[type=password]").fill(ADMINISTRATOR_PASSWORD)
    page.locator("main button[type=submit]").click()
    expect(page.get_by_role("navigation").first).to_be_visible()
    settled(page)


FOREIGN: Final = re.compile(r"[\u0590-\u08ff\u0e00-\u0e7f\ufb1d-\ufefc]|\b(?:256\d|14[04]\d)\b")
"""Letters and digits of Arabic and Thai, and years of the calendars of Thailand, Iran and Saudi Arabia."""


@with_each("locale", ["fa-IR", "th-TH", "ar-EG"])
def test_an_english_page_has_no_digit_month_or_calendar_of_the_browser(house: House, locale: str) -> None:
    with new_context(house, locale=locale) as context:
        visit = Visit(house, context)
        visit.page.goto(CONSOLE)
        visit.sign_in()
        expect(visit.page.locator("html")).to_have_attribute("lang", "en")
        for path in ("/", "/users", "/logs/operations", "/activity", "/files", "/policy/revisions"):
            show(visit.page, path)
            shown: str = visit.page.evaluate(script("languages", "all()"))
            assert FOREIGN.search(shown) is None, (path, FOREIGN.findall(shown))
        assert visit.troubles == []


def test_times_are_in_the_zone_of_the_account_which_the_page_names(chinese: Visit) -> None:
    chinese.page.goto(CONSOLE)
    chinese.sign_in(READER)
    page = chinese.page
    expect(page.locator(".foot")).to_contain_text("Asia/Shanghai")
    show(page, "/logs/operations")
    shown = page.locator("main table time").first
    instant = datetime.fromisoformat(shown.get_attribute("datetime") or "")
    then = instant.astimezone(ZoneInfo("Asia/Shanghai"))
    exact = rf"{then.year}年{then.month}月{then.day}日.*{then:%H:%M:%S}"
    expect(shown).to_have_attribute("title", re.compile(exact))


def test_a_page_is_found_by_its_name_in_another_language(chinese: Visit) -> None:
    chinese.page.goto(CONSOLE)
    chinese.sign_in(READER)
    page = chinese.page
    for typed in ("revis", "策略版"):
        page.keyboard.press("Control+k")
        page.locator("dialog.palette input").fill(typed)
        expect(page.get_by_role("option", name="策略版本").first).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog.palette")).to_have_count(0)
