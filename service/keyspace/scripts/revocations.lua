-- The entries of a list of revocations from one on, the oldest first. The list begins when it is first read. On a cluster
-- that takes two calls: nothing is told to a list that is not there, so the first makes it, and then it begins no earlier
-- than what the clocks of all servers say. It ends eight days after it was last read.
-- entry ('': the first, '+': none), most, '1' on a cluster, when it begins at the earliest (0: not known)
-- -> id of the first entry, its name, id of the last, {id, {name, value}}...
local from, most, apart, least = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
local function at_end(command, first, last)
  return redis.call(command, KEYS[1], first, last, 'COUNT', 1)[1]
end
if redis.call('EXISTS', KEYS[1]) == 0 then add(0, apart and 'opening' or 'begun', '1') end
if least > 0 and at_end('XRANGE', '-', '+')[2][1] == 'opening' then
  redis.call('XTRIM', KEYS[1], 'MINID', add(least, 'begun', '1'))
end
if redis.call('TTL', KEYS[1]) < revocations_life / 2 then redis.call('EXPIRE', KEYS[1], revocations_life) end
local entries = {}
if from ~= '+' then entries = redis.call('XRANGE', KEYS[1], from == '' and '-' or from, '+', 'COUNT', most) end
local first = at_end('XRANGE', '-', '+')
return { first[1], first[2][1], at_end('XREVRANGE', '+', '-')[1], unpack(entries) }
