-- Ends device sessions of a user and marks them: tokens issued until now must be refreshed.
-- id, marker life, before (0: at any time), device ('': all), device to keep ('': none), sign-in ('': any)
-- -> devices ended...
-- A session opened after `before` is neither ended by its device nor kept.
local id, life, before, only, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local sign_in = ARGV[6]
local sessions = sessions_of(id)
local ended = {}

local function in_time(session)
  return before == 0 or milliseconds(session.login_time) <= before
end

if only ~= '' then
  local session = sessions[only] or read_session(id, only)
  sessions[only] = session
  local meant = session and (sign_in == '' or session.sign_in == sign_in)
  if meant and in_time(session) then ended[1] = only end
else
  for device, session in pairs(sessions) do
    if device ~= keep or not in_time(session) then ended[#ended + 1] = device end
  end
end
if #ended > 0 or only == '' then mark(id, clock(), life, sessions) end
for _, device in ipairs(ended) do
  finish(id, device, sessions[device])
end
tell_marked()
return ended
