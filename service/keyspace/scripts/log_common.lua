-- Prepended to the scripts of the log entries, whose first KEYS are the stream and the counts.

local LOG_STREAM, LOG_GROUP, LOG_COUNTS = KEYS[1], 'writers', KEYS[2]
local ACTIVITY_HOURS = 2160
local ACTIVITY_COUNTS = { 'logins', 'login_failures', 'allowed', 'refused' }

local function log_count(name)
  return tonumber(redis.call('HGET', LOG_COUNTS, name) or '0')
end

-- If the stream was removed, counts its entries as dropped.
local function forget_lost_entries()
  local lost = log_count('under_way')
  if lost > 0 and redis.call('XLEN', LOG_STREAM) == 0 then
    redis.call('HINCRBY', LOG_COUNTS, 'dropped', lost)
    redis.call('HSET', LOG_COUNTS, 'under_way', 0, 'bytes', 0)
  end
end
