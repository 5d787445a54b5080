-- Adds a batch of log entries to the stream, once even if it is sent several times.
-- KEYS: also the number that the sender has sent last.
-- number of the batch, batch, entries in it, entries dropped since, most bytes -> 1, or 0: no room
local number, batch = tonumber(ARGV[1]), ARGV[2]
local count, dropped, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local sent = KEYS[3]
if tonumber(redis.call('GET', sent) or '0') >= number then return 1 end
forget_lost_entries()
if log_count('bytes') + #batch > most then return 0 end
redis.call('XADD', LOG_STREAM, '*', 'batch', batch)
redis.call('HINCRBY', LOG_COUNTS, 'bytes', #batch)
redis.call('HINCRBY', LOG_COUNTS, 'under_way', count)
redis.call('HINCRBY', LOG_COUNTS, 'accepted', count + dropped)
redis.call('HINCRBY', LOG_COUNTS, 'dropped', dropped)
redis.call('SET', sent, number, 'EX', 3600)
return 1
