"""The session store: every key, every Lua script and every Redis command of the service.

Owns the names, contents and lives of the keys; each change that must be atomic is one script. All times come
from the store's own clock, in whole milliseconds, so that nodes can't disagree; stored values and tokens hold
them as seconds with a fraction. An instant that was written while that clock was ahead is set to now where it
is read: see decision 0019. Every failure of the store is raised as ``errors.Unavailable``, within the
configured time. Knows nothing of tokens, permissions or HTTP.

======================================  =====================================================================
key                                     content
======================================  =====================================================================
``auth:device:{login_id}:{device}``     a device session, JSON (``values.DeviceSession``)
``auth:idtoken:{login_id}:{device}``    the ID token of a sign-in at a provider, for its logout
``auth:refresh:{rid}``                  text ``login_id:device``: the one live refresh id of that session
``auth:deny:{login_id}``                ``banned`` or ``refresh:{seconds}``
``auth:ban:{login_id}``                 JSON ``reason``, ``since``: the reason for a ban
``auth:rights:{login_id}``              a random text, the epoch of the rights as API keys have them
``auth:rights``                         a text that each end of an epoch replaces: the epoch of all rights
``auth:revocations``                    a stream of marked users and ended sessions, for followers
``auth:followers``                      a hash: followers of the policy, with their leases (JSON)
``auth:spent:{rid}``                    a refresh id that was used (JSON) or whose session ended (``ended``)
``auth:undelivered:{login_id}:{device}:{issued}``  tokens not known to be delivered: when the lease ends
``auth:streams:{login_id}:{device}``    leases of the open event streams of a session, by their end
``auth:challenge:{digest}``             a hash: the challenge, its user, and the number of answers
``auth:ahead``                          the latest instant that was found ahead of all clocks, for an hour
``auth:devices:{login_id}``             index of one user's device sessions
``auth:online``                         index of all device sessions
``auth:online:user:{user_name}``        index of the sessions of that user name
``auth:online:ip:{address}``            index of the sessions opened from that address
``auth:online:device:{device}``         index of the sessions on that kind of device
``auth:log:stream``                     batches of log entries on their way into the database
``auth:log:heads``                      a hash: the last known position of each chain of the logs
``auth:log:counts``                     a hash: entries accepted, written, dropped, set aside, under way
``auth:log:activity:{hour}``            a hash: logins and decisions of that hour, for seven days
``auth:log:sent:{worker}``              number of the last batch that a worker put into the stream
``auth:probe``                          written by readiness checks
``policy:revision``                     text ``{revision}:{announcement}``, the newest that was announced
``policy:witness:{timeline}``           text ``{revision} {hash}``, the newest that was in force there
``rate:…``                              throttling counters and known devices
======================================  =====================================================================

Each index is a sorted set of ``login_id:device`` by the time when the session expires: counts and pages
of live sessions never include expired ones, and expired ones are removed by rank. Scripts are given the
keys that they touch; on a cluster, where these may lie on several servers, they ask for those that they
turn out to need: see ``keys`` and ``scripts/common.lua``. The store must not evict keys (``noeviction``):
without its deny marker a user could come back.
"""

import service.keyspace.untraced  # for what it sets: see there
from service.kernel.synchronized import MOST_BEHIND, SynchronizedClock
from service.keyspace.checks import Answer, KeyPair
from service.keyspace.clock_watch import ClockWatch
from service.keyspace.confirming import Unconfirmed
from service.keyspace.counters import Counters
from service.keyspace.following import Followers, Revocation, RevocationList
from service.keyspace.keys import BANNED
from service.keyspace.log_stream import (
    ACTIVITY_HOURS,
    Batch,
    Done,
    HourCounts,
    KeptHead,
    LogCounts,
    LogQueue,
    LogStream,
)
from service.keyspace.revision_key import Announcement, RevisionCheckpoint, RevisionKey
from service.keyspace.store import Seen, SessionStore
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
    StepUp,
)
