"""The process that workers are forked from; importing this module is its only work.

The imports cost time and memory once, not in each worker. The process outlives the signals that end the
service, since it reports the exit status of each worker to the launcher. It ends when the launcher and all
workers have ended.
"""

import gc
import os
import signal

from service.kernel.structlog_alone import leave_rich_out

leave_rich_out()  # this must come before the other imports

from service.server.hardening import use_huge_pages  # noqa: E402

# Workers use huge pages for password hashes. For permanent objects they would take 3 MiB more.
use_huge_pages(enabled=False)

# The imports leave hardly any garbage, and looking for it would take a sixth of their time.
gc.disable()

# For the processes that are forked from this one; uvicorn would import its loop in each of them.
import uvicorn.loops.uvloop  # noqa: E402, F401

import service.server.worker  # noqa: E402, F401
from service.app import describe_routes  # noqa: E402
from service.authn import password_rules  # noqa: E402
from service.kernel import user_agents  # noqa: E402
from service.server.handover import OFF  # noqa: E402
from service.server.prebuilt import make_before_forks  # noqa: E402

user_agents.prepare()  # no login should wait for it
password_rules.prepare()  # the workers share the lists that it reads
make_before_forks()
gc.freeze()  # so that the collection below looks at a few objects only
# Each child would otherwise spend a fifth of a second on it.
describe_routes(tuple(filter(None, os.environ.pop(OFF, "").split(","))))

for _number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_number, signal.SIG_IGN)
gc.collect()
# Objects that live for ever: a collection in a worker would visit, and so copy, the pages they are on.
gc.freeze()
gc.enable()
