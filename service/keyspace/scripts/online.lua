-- A page of the live sessions, latest expiry first.
-- offset (or -1: after the cursor), size, cursor's end, cursor's member, indexes...
-- -> total, {member, end, session (JSON)}...
local offset, size, after, member = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local filters = { unpack(ARGV, 5) }
local now = clock()
for _, index in ipairs(filters) do sweep(index, now) end

local index, temporary = filters[1], #filters > 1
if temporary then
  index = 'auth:online:page'  -- removed before any other client can see it
  local words = { unpack(filters) }
  words[#words + 1] = 'AGGREGATE'
  words[#words + 1] = 'MIN'
  redis.call('ZINTERSTORE', index, #filters, unpack(words))
end

local function start()
  if offset >= 0 then return offset end
  local rank = redis.call('ZREVRANK', index, member)
  if rank and tonumber(redis.call('ZSCORE', index, member)) == tonumber(after) then return rank + 1 end
  return redis.call('ZCOUNT', index, '(' .. after, '+inf')  -- it has ended or moved up: continue at its old place
end

-- Entries without a session are removed, and the page is read again.
local function page()
  local first, rows, lost = start(), {}, {}
  local found = redis.call('ZREVRANGE', index, first, first + size - 1, 'WITHSCORES')
  for position = 1, #found, 2 do
    local text = redis.call('GET', 'auth:device:' .. found[position])
    if not text then
      lost[#lost + 1] = found[position]
    elseif tonumber(found[position + 1]) > now then
      rows[#rows + 1] = { found[position], found[position + 1], text }
    end
  end
  return rows, lost
end

local rows, lost = page()
while #lost > 0 do
  for _, name in ipairs(filters) do redis.call('ZREM', name, unpack(lost)) end
  if temporary then redis.call('ZREM', index, unpack(lost)) end
  rows, lost = page()
end
local total = redis.call('ZCOUNT', index, '(' .. now, '+inf')
if temporary then redis.call('DEL', index) end
return { total, unpack(rows) }
