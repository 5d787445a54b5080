-- The store's time, the latest instant that was found ahead of it, the deny marker of a user, and which session a
-- refresh id is of. Where the clock was set back since the asking worker has last looked, that look is such an instant.
-- id ('': of nobody), last look (0: none), rid ('': none)
-- -> now, instant (0: none, or not here), marker ('': none), id:device ('': none)
local id, before, rid = ARGV[1], tonumber(ARGV[2]), ARGV[3]
begin_revocations() -- before the first session: its tokens are told from those that came before the list
if is_ahead(before) then tell_ahead(before) end
local marker = id ~= '' and read('GET', deny_key(id))
local owner = rid ~= '' and read('GET', refresh_key(rid))
local ahead = apart and 0 or tonumber(read('GET', AHEAD_KEY) or '0')
return { clock(), math.max(ahead, latest_ahead), marker or '', owner or '' }
