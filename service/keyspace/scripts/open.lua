-- Opens a device session; replaces the one on the same device and ends the oldest ones above the limit.
-- id, device, rid, facts (JSON), life, longest life, most devices, marker when the user was read
-- -> opened, issued, ends, name of the session, devices ended... | stale | banned, until
local id, device, rid, facts = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local life, longest, most = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local marker = read_marker(id)
if marker.banned then return { 'banned', marker.ends } end
if marker.text ~= ARGV[8] then return { 'stale' } end

local sessions = sessions_of(id)
sessions[device] = sessions[device] or read_session(id, device)
local now = clock()
local issued = math.max(now, latest(marker, sessions) + 1)
local ended, others = {}, {}
for name, session in pairs(sessions) do
  if name == device then
    finish(id, name, session)
    ended[1] = name
  else
    others[#others + 1] = { name = name, session = session, at = milliseconds(session.login_time) }
  end
end
table.sort(others, function(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.name < b.name
end)
for position = 1, #others - (most - 1) do
  finish(id, others[position].name, others[position].session)
  ended[#ended + 1] = others[position].name
end

local session = cjson.decode(facts)
local id_token = session.id_token
session.id_token = nil
session.rid = rid
session.login_time = issued / 1000
session.auth_time = math.min(session.auth_time or issued / 1000, issued / 1000)
session.last_refresh_time = issued / 1000
name_session(session)
local ends = issued + math.min(life, longest)
if id_token and session.sign_in then write('SET', id_token_key(id, device), id_token) end
save(id, device, session, now, ends)
return { 'opened', issued, ends, session.sid, unpack(ended) }
