-- Clears a ban and nothing else. id -> 1, or 0 when there was none
local id = ARGV[1]
if redis.call('GET', deny_key(id)) ~= 'banned' then return 0 end
redis.call('DEL', deny_key(id), ban_key(id))
return 1
