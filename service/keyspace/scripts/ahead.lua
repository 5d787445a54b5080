-- Keeps the latest instant that was found ahead of the clocks, for an hour at most. instant
local now = clock()
local latest = math.max(tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or '0'))
if latest > now then redis.call('SET', KEYS[1], string.format('%.0f', latest), 'PX', math.min(latest - now, 3600000)) end
