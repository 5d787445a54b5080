-- Sets the revision if the value, announcement included, is still `seen`. seen, revision -> 1, or 0
if redis.call('GET', 'policy:revision') ~= ARGV[1] then return 0 end
redis.call('SET', 'policy:revision', ARGV[2] .. ':')
return 1
