-- What waits in the stream -> entries, bytes, age of the oldest batch in milliseconds
forget_lost_entries()
local oldest = redis.call('XRANGE', LOG_STREAM, '-', '+', 'COUNT', 1)[1]
local age = 0
if oldest then
  local time = redis.call('TIME')
  age = math.max(0, time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(string.match(oldest[1], '^%d+')))
end
return { log_count('under_way'), log_count('bytes'), age }
