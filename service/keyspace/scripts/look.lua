-- The store's time, the latest instant that was found ahead of it, and the deny marker of a user. Where the clock
-- was set back since the asking worker has last looked, that look is such an instant.
-- id ('': of nobody), last look (0: none) -> now, instant (0: none), marker ('': none)
local id, before = ARGV[1], tonumber(ARGV[2])
if is_ahead(before) then tell_ahead(before) end
local marker = id ~= '' and redis.call('GET', deny_key(id))
return { clock(), tonumber(redis.call('GET', AHEAD_KEY) or '0'), marker or '' }
