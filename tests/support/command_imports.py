"""What the commands import, for the process that they are forked from."""

import gc

from service.kernel.structlog_alone import leave_rich_out

gc.disable()
leave_rich_out()  # as the command line does it

import service.cli.commands  # noqa: E402
import service.server.prepare  # noqa: E402
import service.server.serve  # noqa: E402
import service.server.worker  # noqa: E402, F401
from service.app import describe_routes  # noqa: E402
from service.authn import passwords  # noqa: E402
from service.kernel import user_agents  # noqa: E402
from tests.support.cheap_hashes import cheap_hasher  # noqa: E402

passwords.PasswordHasher = cheap_hasher  # type: ignore[attr-defined, assignment]

user_agents.prepare()  # as the template of the service does it
describe_routes()
gc.freeze()  # a collection in a fork would copy the pages of all that is here
gc.enable()
