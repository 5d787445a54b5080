-- Copies a ban from the database, and ends all sessions. A ban that this script did not set, and that lasts
-- longer, stays. id, end (-1: none), reason -> number of sessions ended
local id, ends, reason = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local marker = read_marker(id)
end_rights(id)

local count = 0
for device, session in pairs(sessions_of(id)) do
  finish(id, device, session)
  count = count + 1
end
if marker.banned and not is_cached_ban(id) then
  if marker.ends == -1 or (ends ~= -1 and marker.ends > ends) then return count end
end
local note = cjson.encode({ reason = reason, since = clock() / 1000, cached = true })
write('SET', deny_key(id), 'banned')
write('SET', ban_key(id), note)
if ends ~= -1 then
  write('PEXPIREAT', deny_key(id), ends)
  write('PEXPIREAT', ban_key(id), ends)
end
return count
