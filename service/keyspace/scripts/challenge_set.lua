-- Keeps a challenge for some milliseconds.
-- facts, life
redis.call('HSET', KEYS[1], 'facts', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
