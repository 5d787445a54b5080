-- revision, announcement: sets the newest policy revision that was announced; never lowers it.
local held = tonumber(string.match(redis.call('GET', 'policy:revision') or '', '^%d+') or 0)
if tonumber(ARGV[1]) < held then return 0 end
redis.call('SET', 'policy:revision', ARGV[1] .. ':' .. ARGV[2])
return 1
