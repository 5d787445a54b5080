"""The session store: every key, every Lua script and every Redis command of the service.

Owns what the keys are called, what is in them, how long they live, and that whatever must not be torn
apart happens in one script. All moments come from the store's own clock, in whole milliseconds, so that
nodes can't disagree; stored values and tokens show them as seconds with a fraction. Whatever goes wrong
between here and the store is ``errors.Unavailable``, within the set time. Must not know what a token is,
who may do what, or HTTP.

======================================  =====================================================================
key                                     what it is ======================================
===================================================================== ``auth:device:{login_id}:{device}``
a device session, JSON (``values.DeviceSession``) ``auth:refresh:{rid}``                  text
``login_id:device``: the one live refresh id of that session ``auth:deny:{login_id}``
``banned`` or ``refresh:{seconds}`` ``auth:ban:{login_id}``                 JSON ``reason``, ``since``: what a
ban was for ``auth:spent:{rid}``                    a refresh id that was used (JSON) or whose session ended
(``ended``) ``auth:undelivered:{login_id}:{device}:{issued}``  tokens that nobody is known to have got: a
moment ``auth:devices:{login_id}``             index of one user's device sessions ``auth:online``
index of all device sessions ``auth:online:user:{user_name}``        index of the sessions of that user name
``auth:online:ip:{address}``            index of the sessions opened from that address
``auth:online:device:{device}``         index of the sessions on that kind of device ``auth:log:stream``
batches of log entries on their way into the database ``auth:log:counts``                     what became of
the entries: a hash of numbers ``auth:log:sent:{worker}``              number of the last batch that a worker
put into the stream ``auth:probe``                            written by readiness checks ``policy:revision``
text ``{revision}:{announcement}``, the newest that was announced ``rate:…``
throttling counters and known devices ======================================
=====================================================================

Each index is a sorted set of ``login_id:device`` by the moment when the session runs out, so that counting
and paging the live ones never meets a dead one, and the dead are dropped by rank. Scripts build key names
from what they read (a session names its rid): one server or a primary with replicas will do, a cluster
won't. The store must not evict keys (``noeviction``): a lost deny marker would open a door.
"""

from service.keyspace.clock_watch import ClockWatch
from service.keyspace.counters import Counters
from service.keyspace.keys import BANNED
from service.keyspace.log_stream import Batch, Done, LogCounts, LogStream
from service.keyspace.revision_key import RevisionKey, revision_in
from service.keyspace.store import SessionStore
from service.keyspace.synchronized import MOST_BEHIND, SynchronizedClock
from service.keyspace.values import (
    Ban,
    BanNote,
    DeviceSession,
    Lease,
    OnlinePage,
    OnlineSession,
    Opening,
    Rotation,
    SessionFacts,
)

__all__ = [
    "BANNED",
    "MOST_BEHIND",
    "Ban",
    "BanNote",
    "Batch",
    "ClockWatch",
    "Counters",
    "DeviceSession",
    "Done",
    "Lease",
    "LogCounts",
    "LogStream",
    "OnlinePage",
    "OnlineSession",
    "Opening",
    "RevisionKey",
    "Rotation",
    "SessionFacts",
    "SessionStore",
    "SynchronizedClock",
    "revision_in",
]
