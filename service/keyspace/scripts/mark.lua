-- Marks users: tokens issued until now must be refreshed. Users without a session have no valid token; they get a
-- short marker, for a login that has read the old rights and is about to open a session.
-- marker life, short life, ids... -> how many had a session
local life, short = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = clock()
local count = 0
for position = 3, #ARGV do
  local id = ARGV[position]
  local sessions = sessions_of(id)
  local online = next(sessions) ~= nil
  if online then count = count + 1 end
  local left = read('PTTL', deny_key(id)) or 0
  mark(id, now, online and life or math.max(short, left), sessions)
end
tell_marked()
return count
