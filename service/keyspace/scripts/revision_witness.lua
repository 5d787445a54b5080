-- Records the newest policy revision that was in force in a timeline; never a lower one.
-- timeline, revision, hash -> 1, or 0: not newer
local key = 'policy:witness:' .. ARGV[1]
local held = string.match(redis.call('GET', key) or '', '^%d+') or '0'
if tonumber(ARGV[2]) <= tonumber(held) then return 0 end
redis.call('SET', key, ARGV[2] .. ' ' .. ARGV[3])
return 1
