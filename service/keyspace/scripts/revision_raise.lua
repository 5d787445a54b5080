-- Sets the newest announced policy revision; never lowers it. revision, announcement -> 1, or 0: lower
local held = tonumber(string.match(redis.call('GET', 'policy:revision') or '', '^%d+') or 0)
if tonumber(ARGV[1]) < held then return 0 end
redis.call('SET', 'policy:revision', ARGV[1] .. ':' .. ARGV[2])
return 1
