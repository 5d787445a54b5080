-- Records the newest policy revision that was in force in a timeline; never a lower one.
-- revision, hash -> 1, or 0: not newer
local held = string.match(redis.call('GET', KEYS[1]) or '', '^%d+') or '0'
if tonumber(ARGV[1]) <= tonumber(held) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
return 1
