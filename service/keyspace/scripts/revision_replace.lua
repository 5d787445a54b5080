-- Sets the revision if the value, announcement included, is still `seen` ('': missing). seen, revision -> 1, or 0
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ':')
return 1
