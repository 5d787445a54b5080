-- Keeps a challenge for some milliseconds.
-- key, facts, life
redis.call('HSET', ARGV[1], 'facts', ARGV[2])
redis.call('PEXPIRE', ARGV[1], ARGV[3])
