-- Adds entries to a list of revocations of a cluster, if it is there. latest instant that they tell, (name, value)...
-- -> 1, or 0: there is no list
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for at = 2, #ARGV, 2 do add(tonumber(ARGV[1]), ARGV[at], ARGV[at + 1]) end
return 1
