-- Prepended to the scripts that touch nothing but their KEYS, and need the time.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

