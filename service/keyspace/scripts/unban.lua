-- Clears a ban, and ends the epoch of the user's rights.
-- id, '1' for any ban or '0' for one copied from the database -> 1, or 0
local id = ARGV[1]
end_rights(id)
if read('GET', deny_key(id)) ~= 'banned' then return 0 end
if ARGV[2] == '0' and not is_cached_ban(id) then return 0 end
write('DEL', deny_key(id))
write('DEL', ban_key(id))
return 1
