-- Gives batches to a writer, which keeps them until they are done: its own unfinished ones ('0'), or new ones
-- ('>') and those that other writers have had for `idle` milliseconds (0: none of those).
-- writer, '0' or '>', most, idle -> id, batch...
local writer, from, most, idle = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local found = {}

local function take(entries)
  for _, entry in ipairs(entries or {}) do
    if entry[2] then
      found[#found + 1] = entry[1]
      found[#found + 1] = entry[2][2]
    else
      redis.call('XACK', LOG_STREAM, LOG_GROUP, entry[1]) -- another writer has finished it
    end
  end
end

local function read()
  return redis.pcall('XREADGROUP', 'GROUP', LOG_GROUP, writer, 'COUNT', most, 'STREAMS', LOG_STREAM, from)
end

local answer = read()
if type(answer) == 'table' and answer.err then
  redis.pcall('XGROUP', 'CREATE', LOG_STREAM, LOG_GROUP, '0', 'MKSTREAM')
  answer = read()
  if type(answer) == 'table' and answer.err then return answer end
end
if answer then take(answer[1][2]) end
if idle > 0 then
  take(redis.call('XAUTOCLAIM', LOG_STREAM, LOG_GROUP, writer, idle, '0', 'COUNT', most)[2])
  for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', LOG_STREAM, LOG_GROUP)) do
    local one = {}
    for at = 1, #row, 2 do one[row[at]] = row[at + 1] end
    if one.pending == 0 and one.idle > 3600000 then
      redis.call('XGROUP', 'DELCONSUMER', LOG_STREAM, LOG_GROUP, one.name)
    end
  end
end
return found
