-- What happened in each hour of a range. first, last -> (logins, failures of logins, allowed, refused)...
local rows = {}
for hour = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local row = redis.call('HMGET', ACTIVITY .. string.format('%d', hour), unpack(ACTIVITY_COUNTS))
  for place = 1, #ACTIVITY_COUNTS do row[place] = tonumber(row[place] or '0') end
  rows[#rows + 1] = row
end
return rows
