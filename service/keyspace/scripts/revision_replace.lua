-- seen, revision: sets the revision where the key still says `seen`, the announcement included.
if redis.call('GET', 'policy:revision') ~= ARGV[1] then return 0 end
redis.call('SET', 'policy:revision', ARGV[2] .. ':')
return 1
