-- Counts the live sessions of all users -> number
return redis.call('ZCOUNT', 'auth:online', '(' .. clock(), '+inf')
