-- Appended to every script of sessions: runs it, and then writes what it has kept.
local function run(commands)
  for _, command in ipairs(commands) do redis.call(unpack(command)) end
end

local fine, answer = pcall(main)
if not fine and #needed == 0 then error(answer, 0) end -- else what failed had not been read
if #needed + #fixed + #untold > 0 then
  run(fixes)
  -- What has not been read may show that others are to be told.
  local rows = #fixed > 0 and fixed or #needed == 0 and untold or {}
  return { 'need', latest_ahead, #rows > 0 and cjson.encode(rows) or '', unpack(needed) }
end
if latest_ahead > 0 and not apart then
  local latest = math.max(latest_ahead, tonumber(read('GET', AHEAD_KEY) or '0'))
  write('SET', AHEAD_KEY, string.format('%.0f', latest), 'PX', math.min(latest - clock(), TOLD_FOR))
end
run(fixes)
run(writes)
local outcome = #fixes + #writes > 0 and 'done' or 'read'
if not apart then return { outcome, answer } end
local changes = #of_indexes > 0 and cjson.encode(of_indexes) or ''
return { outcome, answer or false, latest_ahead, all_ended and 1 or 0, changes }
