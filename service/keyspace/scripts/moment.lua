-- The time of a server of a cluster, and the latest instant that was found ahead there. Where its clock was set back
-- since the asking worker has last looked, that look is such an instant.
-- KEYS: the instant. time of the worker, last look (0: none) -> now, instant (0: none)
local now, asked_at, before = clock(), tonumber(ARGV[1]), tonumber(ARGV[2])
local ahead = tonumber(redis.call('GET', KEYS[1]) or '0')
if before > math.max(now, asked_at) + 1000 and before > ahead then
  ahead = before
  redis.call('SET', KEYS[1], string.format('%.0f', ahead), 'PX', math.min(ahead - now, 3600000))
end
return { now, ahead }
