-- Bans a user and ends all sessions. A ban never gets shorter; life 0 is a ban without end.
-- id, life, reason -> until (-1: no end), devices ended
local id, life, reason = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local now = clock()
local marker = read_marker(id)
local ends = life > 0 and now + life or -1
if marker.banned and (marker.ends == -1 or (ends ~= -1 and marker.ends > ends)) then ends = marker.ends end

local count = 0
for device, session in pairs(sessions_of(id)) do
  finish(id, device, session)
  count = count + 1
end
local note = cjson.encode({ reason = reason, since = now / 1000 })
redis.call('SET', deny_key(id), 'banned')
redis.call('SET', ban_key(id), note)
if ends ~= -1 then
  redis.call('PEXPIREAT', deny_key(id), ends)
  redis.call('PEXPIREAT', ban_key(id), ends)
end
return { ends, count }
