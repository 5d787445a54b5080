"""The key of second factors: replaced, lost, and what the doctor says of it."""

import secrets

from service.features.operations.checks import checks_for
from service.features.operations.diagnosis.examination import examine
from service.features.second_factors import store
from service.features.second_factors.resealing import reseal
from service.features.second_factors.sealing import ID_BYTES, FactorKeys
from service.operator.findings import Finding
from service.records.database.transactions import Database
from service.settings import load
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.support.inside import Inside
from tests.support.members import query

KEY, NEW = SETTINGS["PORTCULLIS_AUTH__FACTOR_KEY"], "n" * 40


async def counted(database: Database) -> dict[bytes, int]:
    async with database.snapshot() as connection:
        return await store.count_by_key(connection, ID_BYTES)


async def test_secrets_are_sealed_anew_and_open_with_the_new_key(site: Inside, person: Person) -> None:
    await person.enrol_app()
    database = Database(site.database_url)
    old, both, new = FactorKeys(KEY), FactorKeys(NEW, KEY), FactorKeys(NEW)
    before = await counted(database)
    assert set(before) == {old.current}
    assert (
        await reseal(database, new)
        == f"0 secrets sealed with the current key, {before[old.current or b'']} with an unknown key"
    )
    assert await counted(database) == before
    count = before[old.current or b""]
    assert (
        await reseal(database, both) == f"{count} secrets sealed with the current key, 0 with an unknown key"
    )
    assert await counted(database) == {new.current: count}
    assert await reseal(database, both) == "0 secrets sealed with the current key, 0 with an unknown key"
    refusal = await person.challenged()
    refused = await person.second_step(refusal["challenge"], "totp", code=person.code())
    assert refused.status == 503  # this node has the old key alone, and lets nobody in without
    answer = await person.second_step(refusal["challenge"], "recovery_code", code=person.codes[0])
    assert answer.status == 200
    assert (
        await reseal(database, FactorKeys(KEY, NEW))
        == f"{count} secrets sealed with the current key, 0 with an unknown key"
    )
    await database.close()


async def test_an_app_that_cannot_be_read_keeps_out_no_code_of_another_app(
    site: Inside, person: Person
) -> None:
    await person.enrol_app()
    unreadable = person.app
    await person.step_up()
    await person.enrol_app()
    await query(site, "UPDATE sys.user_factor SET sealed_secret = 'x' WHERE id = %s", unreadable)
    refusal = await person.challenged()
    assert (await person.second_step(refusal["challenge"], "totp", code="000000")).status == 503
    assert (await person.second_step(refusal["challenge"], "totp", code=person.code())).status == 200
    await query(site, "DELETE FROM sys.user_factor WHERE id = %s", unreadable)


async def finding(site: Inside, name: str, **variables: str) -> Finding:
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": site.database_url, "REDIS_URL": site.redis_url}
    environ |= {"JWT_SECRET": secrets.token_urlsafe(48), **variables}
    check = next(check for check in checks_for() if check.name == name)
    ((_, found_out),) = await examine(environ, load(environ), lambda _: [], [check])
    return found_out


async def test_an_administrator_without_a_factor_is_named_once_the_account_is_not_new(site: Inside) -> None:
    assert (await finding(site, "second-factors")).state == "ok"
    site.beside().execute("UPDATE sys.user SET create_time = now() - interval '8 days' WHERE id = 1")
    later = await finding(site, "second-factors")
    assert (later.state, later.users) == ("warning", ((1, "admin"),))


async def test_the_doctor_tells_whether_secrets_can_be_read(site: Inside, person: Person) -> None:
    await person.enrol_app()
    states = [
        (
            await finding(
                site, "factor-key", **{f"PORTCULLIS_AUTH__{name}": key for name, key in keys.items()}
            )
        ).state
        for keys in (
            {"FACTOR_KEY": KEY},
            {},
            {"FACTOR_KEY": NEW},
            {"FACTOR_KEY": NEW, "FACTOR_PREVIOUS_KEY": KEY},
            {"FACTOR_KEY": KEY, "FACTOR_PREVIOUS_KEY": NEW},
        )
    ]
    assert states == ["ok", "fault", "fault", "ok", "warning"]
