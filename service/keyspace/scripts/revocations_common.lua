-- Appended to that for the scripts whose one key is a list. No id is less than an instant that its entry tells, nor than
-- an earlier one: so whatever was cut off ends no token that is younger than the first entry.
local function add(least, name, value)
  local time, last = redis.call('TIME'), redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local at = math.max(now, least, tonumber(last and string.match(last[1], '^%d+') or 0))
  return redis.call(
    'XADD', KEYS[1], 'MAXLEN', '~', most_revocations, string.format('%.0f-*', at), name, value)
end
