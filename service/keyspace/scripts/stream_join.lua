-- Adds an event stream to those of a session, or renews its lease. A lease later than any can end was given while the
-- store's clock was ahead.
-- KEYS: the leases of the session's streams. most streams, milliseconds of a lease, name of the stream
-- -> 1, or 0 if the session has `most` other streams
local now, most, lease, name = clock(), tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + lease), '+inf')
if redis.call('ZCARD', KEYS[1]) >= most and not redis.call('ZSCORE', KEYS[1], name) then return 0 end
redis.call('ZADD', KEYS[1], now + lease, name)
redis.call('PEXPIRE', KEYS[1], lease)
return 1
