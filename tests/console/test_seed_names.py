"""The names of a new installation are translated by key and first name, until somebody renames them."""

import json
import re

import pytest
from playwright.sync_api import expect

from service.features.console.console import CONSOLE, FILES, TEXTS
from service.features.console.texts import languages
from service.kernel.languages import FIRST, LANGUAGES
from service.kernel.permission_catalogue import CATALOGUE
from service.records.installation.seed_catalogue import RESOURCES, ROLES, ROOT, WILDCARDS
from tests.console.house import House
from tests.console.states import show
from tests.console.visits import Visit, new_context


def names() -> dict[str, str]:
    """Return the names of the seed, by the key of each with the name."""
    pages = [("menu", ROOT, "System"), *(("menu", page.name, page.title) for page in CATALOGUE)]
    codes = [*WILDCARDS, *((each.code, each.title) for page in CATALOGUE for each in page.permissions)]
    rows = [*pages, *(("button", code, title) for code, title in codes)]
    rows += [("role", role.code, text) for role in ROLES for text in (role.name, role.description)]
    rows += [("resource", each.code, each.name) for each in RESOURCES]
    return {f"{kind} {code}: {name}": name for kind, code, name in rows}


def texts_of(language: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((FILES / TEXTS / language / "seed.json").read_text("utf-8"))["SEED"]
    return texts


def test_profiles_and_mails_have_the_languages_of_the_console() -> None:
    assert tuple(languages(FILES / TEXTS)) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_the_names_of_the_seed_and_no_others(language: str) -> None:
    assert texts_of(language).keys() == names().keys()
    assert all(texts_of(language).values())


def test_the_first_language_has_the_stored_names() -> None:
    assert texts_of(FIRST) == names()


def test_chinese_names_are_chinese() -> None:
    assert [text for text in texts_of("zh-CN").values() if not re.search("[\u4e00-\u9fff]", text)] == []


def test_a_seeded_name_is_translated_until_somebody_renames_it(house: House) -> None:
    house.member("name-reader", "*")
    house.ask("name-reader", "PUT", "/api/user/profile", {"nickName": "R", "language": "zh-CN"})
    (auditor,) = [role for role in house.items("role") if role["roleCode"] == "auditor"]
    with new_context(house) as context:
        visit = Visit(house, context)
        visit.page.goto(CONSOLE)
        visit.sign_in("name-reader", "/roles")
        row = visit.page.get_by_role("row").filter(has_text="auditor")
        expect(row).to_contain_text("审计员")
        expect(row).to_contain_text("可查看列表、详情和策略")
        renamed = {"roleName": "Watcher", "description": auditor["description"]}
        house.ask("admin", "PATCH", f"/api/role/{auditor['id']}", renamed)
        show(visit.page, "/users")
        show(visit.page, "/roles")
        expect(row).to_contain_text("Watcher")
        house.ask("admin", "PATCH", f"/api/role/{auditor['id']}", {"roleName": auditor["roleName"]})
        assert visit.troubles == []
