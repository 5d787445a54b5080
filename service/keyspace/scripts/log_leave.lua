-- Removes a writer unless it has unfinished batches. writer
local answer = redis.pcall('XPENDING', LOG_STREAM, LOG_GROUP, '-', '+', 1, ARGV[1])
if not answer.err and #answer == 0 then redis.call('XGROUP', 'DELCONSUMER', LOG_STREAM, LOG_GROUP, ARGV[1]) end
return 1
