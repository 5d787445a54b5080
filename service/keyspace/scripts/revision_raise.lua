-- Sets the newest announced policy revision; never lowers it. revision, announcement -> 1, or 0: lower
local held = string.match(redis.call('GET', 'policy:revision') or '', '^%d+') or '0'
if tonumber(ARGV[1]) >= tonumber(held) then
  redis.call('SET', 'policy:revision', ARGV[1] .. ':' .. ARGV[2])
  return 1
end
-- A higher number stays, but as another announcement: who is about to withdraw it has not seen this one.
if ARGV[2] ~= '' then redis.call('SET', 'policy:revision', held .. ':' .. ARGV[2]) end
return 0
