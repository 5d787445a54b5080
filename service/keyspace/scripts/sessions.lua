-- Lists the live sessions of a user. id -> device, session (JSON), ...
local found = {}
for device, session in pairs(sessions_of(ARGV[1])) do
  found[#found + 1] = device
  found[#found + 1] = cjson.encode(session)
end
return found
