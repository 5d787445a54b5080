-- Returns the facts of a challenge and counts the answer; the answer after the last one ends it.
-- key, most answers -> facts | false
local key, most = ARGV[1], tonumber(ARGV[2])
local facts = redis.call('HGET', key, 'facts')
if not facts then return false end
if redis.call('HINCRBY', key, 'answers', 1) > most then
  redis.call('DEL', key)
  return false
end
return facts
