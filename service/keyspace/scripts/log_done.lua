-- Removes batches that are in the database, and counts their entries, once even if it is called again. Keeps the
-- heads of the chains that they have been added to; where a chain does not go on from the head that is kept, that
-- one stays as well, since its entries are gone. What the entries tell is counted by hour, for seven days; hours
-- before these, and those ahead of this store's clock, are left out: so the number of keys has a bound.
-- KEYS: also the heads, and the counts of each hour that is named, in that order.
-- number of heads, (place, number and hash before, number and hash now)...,
-- (id, bytes, written, set aside, number of hours, (hour, counts...)...)... -> how many chains do not go on
local this_hour = math.floor(redis.call('TIME')[1] / 3600)
local LOG_HEADS, hours_before = KEYS[3], 3
local at, lost = 2, 0
for _ = 1, tonumber(ARGV[1]) do
  local place, before, before_hash = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local now, now_hash = tonumber(ARGV[at + 3]), ARGV[at + 4]
  local kept = redis.call('HGET', LOG_HEADS, place)
  local number = kept and tonumber(string.match(kept, '^(%d+) ')) or 0
  if now > number then
    -- A head that another worker has not told yet is skipped; one inside a batch can't be of this chain.
    if kept and (before < number or (before == number and kept ~= number .. ' ' .. before_hash)) then
      lost = lost + redis.call('HSETNX', LOG_HEADS, place .. ' lost', kept)
    end
    redis.call('HSET', LOG_HEADS, place, string.format('%d', now) .. ' ' .. now_hash)
  end
  at = at + 5
end
while at <= #ARGV do
  local bytes, written, aside = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local hours, width = tonumber(ARGV[at + 4]), #ACTIVITY_COUNTS + 1
  redis.call('XACK', LOG_STREAM, LOG_GROUP, ARGV[at])
  if redis.call('XDEL', LOG_STREAM, ARGV[at]) == 1 then
    redis.call('HINCRBY', LOG_COUNTS, 'bytes', -bytes)
    redis.call('HINCRBY', LOG_COUNTS, 'under_way', -(written + aside))
    redis.call('HINCRBY', LOG_COUNTS, 'written', written)
    redis.call('HINCRBY', LOG_COUNTS, 'set_aside', aside)
    for place = at + 5, at + 4 + hours * width, width do
      local hour = tonumber(ARGV[place])
      if hour > this_hour - ACTIVITY_HOURS and hour <= this_hour + 1 then
        local key = KEYS[hours_before + (place - at - 5) / width + 1]
        for each, name in ipairs(ACTIVITY_COUNTS) do redis.call('HINCRBY', key, name, ARGV[place + each]) end
        redis.call('EXPIREAT', key, (hour + ACTIVITY_HOURS + 1) * 3600)
      end
    end
  end
  hours_before = hours_before + hours
  at = at + 5 + hours * width
end
return lost
