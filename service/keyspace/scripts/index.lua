-- Puts sessions into indexes that are kept apart from them, and takes sessions out. At most a thousand expired members
-- of an index are removed. A session that was put in with a later end stays.
-- (place of the index in KEYS, member, end ('': take it out; '=' and an end: do so if that is its end))...
local now = clock()
for at = 1, #ARGV, 3 do
  local index, member, ends = KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2]
  local meant = string.match(ends, '^=(.+)$')
  if ends == '' or meant then
    local score = meant and redis.call('ZSCORE', index, member)
    if not meant or (score and tonumber(score) == tonumber(meant)) then redis.call('ZREM', index, member) end
  else
    local gone = redis.call('ZCOUNT', index, '-inf', now)
    if gone > 0 then redis.call('ZREMRANGEBYRANK', index, 0, math.min(gone, 1000) - 1) end
    redis.call('ZADD', index, 'GT', ends, member)
    redis.call('PEXPIREAT', index, ends + 1000, 'NX')
    redis.call('PEXPIREAT', index, ends + 1000, 'GT')
  end
end
