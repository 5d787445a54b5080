-- Counts the live sessions of users. ids... -> number
local now = clock()
local count = 0
for _, id in ipairs(ARGV) do
  count = count + redis.call('ZCOUNT', devices_key(id), '(' .. now, '+inf')
end
return count
