"""Encrypts secrets of second factors again after a key replacement."""

from service.errors import Unavailable
from service.features.second_factors import store
from service.features.second_factors.checking import about
from service.features.second_factors.sealing import FactorKeys
from service.features.second_factors.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database

_AT_ONCE = 500  # secrets of one transaction


async def reseal(database: Database, keys: FactorKeys) -> Sentence:
    """Seal secrets of other keys with the current key, and return their number as text.

    A secret that none of the keys opens stays as it is. Raises ``Unavailable`` for the database.
    """
    if keys.current is None:
        return sentence("no_factor_key")
    done, lost = 0, 0
    last = 0
    while True:
        async with database.transaction() as connection:
            apps = await store.sealed_with_others(connection, keys.current, after=last, most=_AT_ONCE)
            for app in apps:
                try:
                    secret = keys.open(app.sealed_secret, about(app.user_id))
                except Unavailable:
                    lost += 1
                else:
                    sealed = keys.seal(secret, about(app.user_id))
                    await store.reseal(connection, app, sealed)
                    done += 1
        if len(apps) < _AT_ONCE:
            return sentence("secrets_resealed", sealed=done, unknown=lost)
        last = apps[-1].id
