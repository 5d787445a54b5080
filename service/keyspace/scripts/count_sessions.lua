-- Counts the live sessions of users. KEYS: the index of each -> number
local now, count = clock(), 0
for _, index in ipairs(KEYS) do
  count = count + redis.call('ZCOUNT', index, '(' .. now, '+inf')
end
return count
