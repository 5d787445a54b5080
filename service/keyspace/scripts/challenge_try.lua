-- Returns the facts of a challenge and counts the answer; the answer after the last one ends it.
-- most answers -> facts | false
local facts = redis.call('HGET', KEYS[1], 'facts')
if not facts then return false end
if redis.call('HINCRBY', KEYS[1], 'answers', 1) > tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1])
  return false
end
return facts
