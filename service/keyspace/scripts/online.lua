-- A part of an index of live sessions, latest end first, members of the same end in falling order.
-- KEYS: a place for what several indexes have in common, indexes...
-- first rank to return (or -1: those after a cursor, or -2: none), how many, cursor's end, cursor's member
-- -> total, live ones that come before the cursor, member, end, ...
local first, size, after, cursor = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local now = clock()
local index, temporary = KEYS[2], #KEYS > 2
for place = 2, #KEYS do
  local gone = redis.call('ZCOUNT', KEYS[place], '-inf', now)
  if gone > 0 then redis.call('ZREMRANGEBYRANK', KEYS[place], 0, math.min(gone, 1000) - 1) end
end
if temporary then
  index = KEYS[1] -- removed before any other client can see it
  local words = { unpack(KEYS, 2) }
  words[#words + 1] = 'AGGREGATE'
  words[#words + 1] = 'MIN'
  redis.call('ZINTERSTORE', index, #KEYS - 1, unpack(words))
end
local before = 0
if first < 0 then
  -- Of those with the end of the cursor, the ones that come before it, or are it, are passed over.
  before = redis.call('ZCOUNT', index, '(' .. after, '+inf')
  local rank = redis.call('ZREVRANK', index, cursor)
  if rank and tonumber(redis.call('ZSCORE', index, cursor)) == tonumber(after) then
    before = rank + 1
  elseif cursor ~= '' then
    for _, member in ipairs(redis.call('ZREVRANGEBYSCORE', index, after, after)) do
      if member <= cursor then break end
      before = before + 1
    end
  end
  if first == -1 then first = before end
end
local rows = {}
if first >= 0 and size > 0 then
  local listed = redis.call('ZREVRANGE', index, first, first + size - 1, 'WITHSCORES')
  for position = 1, #listed, 2 do
    if tonumber(listed[position + 1]) > now then
      rows[#rows + 1] = listed[position]
      rows[#rows + 1] = listed[position + 1]
    end
  end
end
local total = redis.call('ZCOUNT', index, '(' .. now, '+inf')
if temporary then redis.call('DEL', index) end
return { total, before, unpack(rows) }
