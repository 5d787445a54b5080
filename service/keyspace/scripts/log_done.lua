-- Removes batches that are in the database, and counts their entries, once even if it is called again.
-- (id, bytes, written, set aside)...
for at = 1, #ARGV, 4 do
  local bytes, written, aside = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  redis.call('XACK', LOG_STREAM, LOG_GROUP, ARGV[at])
  if redis.call('XDEL', LOG_STREAM, ARGV[at]) == 1 then
    redis.call('HINCRBY', LOG_COUNTS, 'bytes', -bytes)
    redis.call('HINCRBY', LOG_COUNTS, 'under_way', -(written + aside))
    redis.call('HINCRBY', LOG_COUNTS, 'written', written)
    redis.call('HINCRBY', LOG_COUNTS, 'set_aside', aside)
  end
end
return 1
