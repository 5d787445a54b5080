-- Replaces a copy of the epoch of all rights. Copies that were equal stay so, unless several are replaced at once: then
-- each gets a text of its own, so that no copy ever has a text again that another one had before a change.
-- seen ('': none), next, life in seconds -> 1
local stored = redis.call('GET', KEYS[1]) or ''
local next = stored == ARGV[1] and ARGV[2] or redis.sha1hex(stored .. ' ' .. ARGV[2])
redis.call('SET', KEYS[1], next, 'EX', ARGV[3])
return 1
