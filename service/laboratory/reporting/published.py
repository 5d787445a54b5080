"""The test of an installation's published policy with a plain Casbin."""

from service.audit.seals import seals_of
from service.authz.engine.rules import PolicyFileError
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.laboratory.analysis.sources import READ_WITHIN
from service.laboratory.published import PlainCasbin, PublishedTest
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import role_holdings
from service.records.database.transactions import Database
from service.records.published import policy_revisions
from service.settings import Settings


def published_test(settings: Settings) -> PublishedTest:
    """Compare the answers of a plain Casbin and of the service.

    Raises ``PolicyError`` if the policy can't be used, or changes meanwhile; ``SchemaError`` and
    ``Unavailable``.
    """

    async def load(database: Database) -> tuple[PlainCasbin, dict[str, tuple[str, ...]]]:
        live = LivePolicy(configured(settings), seals_of(settings.oplog))
        await live.load(database)
        policy = live.current
        async with database.snapshot(within=READ_WITHIN) as connection:
            newest = await policy_revisions.latest(connection)
            if newest is None or newest.revision != policy.revision:
                raise PolicyFileError("The policy was changed while it was read: try again")
            casbin = await connection.run_sync(lambda sync: PlainCasbin(policy, sync))
            return casbin, await role_holdings.read_codes(connection)

    with reachable(settings) as running:
        casbin, codes = with_database(running, load)
    return casbin.compared(codes)
