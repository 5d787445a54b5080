-- What happened in some hours. KEYS: their counts -> (logins, failures of logins, allowed, refused)...
local rows = {}
for number, key in ipairs(KEYS) do
  local row = redis.call('HMGET', key, unpack(ACTIVITY_COUNTS))
  for place = 1, #ACTIVITY_COUNTS do row[place] = tonumber(row[place] or '0') end
  rows[number] = row
end
return rows
