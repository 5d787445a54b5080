"""An invented API key costs one look-up, and never takes all connections for single statements."""

import asyncio
from typing import Any, cast

from service.errors import TokenInvalid
from service.features.service_accounts.callers import ApiKeyCallers
from service.features.service_accounts.form import ApiKey, new_secret


class Database:
    """Has no keys; ``most`` is how many statements there were at the same time."""

    now = most = 0
    timeout = 2.0

    async def read(self, *_: object) -> list[tuple[Any, ...]]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        return []


async def test_invented_keys_that_come_at_once_are_looked_up_one_after_another() -> None:
    database = Database()
    callers = ApiKeyCallers(cast(Any, database), cast(Any, None), cast(Any, None))
    keys = [str(ApiKey(number, new_secret())) for number in range(1, 21)]
    outcomes = await asyncio.gather(
        *(callers.of_key(key, counted=False) for key in keys), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [TokenInvalid] * len(keys)
    assert database.most == 1


class Silent:
    """Never answers a statement; ``asked`` is set once it has one."""

    def __init__(self, timeout: float = 2.0) -> None:
        self.timeout = timeout
        self.asked = asyncio.Event()

    async def read(self, *_: object) -> list[tuple[Any, ...]]:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_key_that_waits_for_the_look_up_of_others_is_refused_in_the_time_of_one() -> None:
    callers = ApiKeyCallers(cast(Any, Silent(0.05)), cast(Any, None), cast(Any, None))
    keys = [str(ApiKey(number, new_secret())) for number in range(1, 4)]
    asked = (callers.of_key(key, counted=False) for key in keys)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["The API key can't be looked up in time"] * len(keys)
    await callers.finish()


async def test_a_reading_whose_request_has_gone_ends_with_the_worker() -> None:
    database = Silent()
    callers = ApiKeyCallers(cast(Any, database), cast(Any, None), cast(Any, None))
    before = asyncio.all_tasks()
    request = asyncio.create_task(callers.of_key(str(ApiKey(1, new_secret())), counted=False))
    await database.asked.wait()
    request.cancel()
    await asyncio.wait([request])
    assert asyncio.all_tasks() > before
    await callers.finish()
    assert asyncio.all_tasks() == before
