-- Announces a policy revision that is about to be published; never lowers the number. revision, announcement
local held = string.match(redis.call('GET', KEYS[1]) or '', '^%d+') or '0'
-- A higher number stays, but as another announcement: who is about to withdraw it has not seen this one.
local revision = tonumber(ARGV[1]) >= tonumber(held) and ARGV[1] or held
redis.call('SET', KEYS[1], revision .. ':' .. ARGV[2])
