"""Two spellings of an internationalised domain are one address, in every place that has addresses."""

from importlib import import_module
from urllib.parse import quote

import pytest

from service.records.database.transactions import engine
from service.records.installation.migrate import migrate
from service.records.migrations import versions
from tests.features.scim.scim_client import scim_client
from tests.support.inside import Inside

PLAIN, ENCODED = "heron@m\u00fcnchen.example", "heron@XN--mnchen-3ya.example"


@pytest.mark.parametrize(("name", "other"), [(PLAIN, ENCODED), (ENCODED, PLAIN)])
async def test_a_user_is_known_by_both_spellings(house: Inside, name: str, other: str) -> None:
    body = {"userName": name, "nickName": "Heron", "email": name, "password": "four wary herons"}
    made = await house.data("POST", "/api/user", body)
    assert (made["userName"], made["email"]) == (name, PLAIN)
    answer = await house.ask("POST", "/api/user", body | {"userName": other, "email": other})
    assert (answer.status, answer.json["field"]) == (409, "userName")
    for spelling in (PLAIN, ENCODED, ENCODED.partition("@")[2]):
        for parameter in ("email", "keyword", "userName"):
            target = f"/api/user/list?{parameter}={quote(spelling)}"
            page = await house.data("GET", target)
            assert [user["id"] for user in page["items"]] == [made["id"]], (parameter, spelling)
    changed = await house.data("PATCH", f"/api/user/{made['id']}", {"email": other})
    assert changed["email"] == PLAIN
    administrator = house.token
    await house.log_in(other, "four wary herons")
    house.token = administrator


@pytest.mark.feature("scim")
async def test_a_directory_finds_an_address_by_both_spellings(house: Inside) -> None:
    client = await scim_client(house)
    user = await client.user("heron", emails=[{"value": ENCODED}])
    for spelling in (PLAIN, ENCODED):
        asked = quote(f'emails.value eq "{spelling}"')
        page = await client.data("GET", f"/Users?filter={asked}")
        assert [each["id"] for each in page["Resources"]] == [user]


def test_rows_of_earlier_versions_get_the_one_spelling(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        connection.exec_driver_sql(
            """INSERT INTO sys."user" (user_name, user_name_key, nick_name, email)
            VALUES ('a@xn--mnchen-3ya.ex', 'a@xn--mnchen-3ya.ex', 'A', 'a@XN--mnchen-3ya.ex'),
                ('b@m\u00fcnchen.ex', 'b@m\u00fcnchen.ex', 'B', 'b@b.ex'),
                ('b@xn--mnchen-3ya.ex', 'b@xn--mnchen-3ya.ex', 'B2', NULL)"""
        )
        import_module(f"{versions.__name__}.v0065a_texts").spell_domains(connection)
        rows = connection.exec_driver_sql('SELECT user_name_key, email FROM sys."user"')
        assert {tuple(row) for row in rows} == {
            ("a@m\u00fcnchen.ex", "a@m\u00fcnchen.ex"),
            ("b@m\u00fcnchen.ex", "b@b.ex"),
            ("b@xn--mnchen-3ya.ex", None),
        }
