-- Counts an attempt in a window that slides on the store's clock: the count of the window before weighs by the share
-- of it that still lies within the last milliseconds of a window, that of this window whole.
-- KEYS: the count of this window, which lives for two, less a millisecond, and the count of the window before.
-- most (1 or more), milliseconds of a window, 1 to count the attempt or 0 to look only
-- -> 0 if it is allowed, and counted then; else the milliseconds until the next one may be. A refused one counts nothing
local most, length, counts = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
-- The first millisecond of a window is one of its own: who is refused in it waits a window, and not a millisecond more.
local life = 2 * length - 1

-- The milliseconds that a count has left. A window that ends later than any can was begun while the store's clock was
-- ahead: it counts as begun now, or the attempts of all that time would be those of one window.
local function left_of(key, longest)
  local left = redis.call('PTTL', key)
  if left > longest then
    redis.call('PEXPIRE', key, longest)
    return longest
  end
  return math.max(left, 0)
end

local former_left, left = left_of(KEYS[2], length - 1), left_of(KEYS[1], life)
if left > 0 and left < length then -- this window is over, and is the one before
  redis.call('RENAME', KEYS[1], KEYS[2])
  redis.call('SET', KEYS[1], 0, 'PX', left + length)
  former_left, left = left, left + length
end
local former = tonumber(redis.call('GET', KEYS[2]) or 0)
local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if math.floor(former * former_left / length) + count < most then
  if counts and left > 0 then
    redis.call('INCR', KEYS[1])
  elseif counts then
    redis.call('SET', KEYS[1], 1, 'PX', life)
  end
  return 0
end
if count < most then -- allowed once the window before weighs little enough
  return math.max(1, math.floor(former_left - (most - count) * length / former) + 1)
end
return left - length + math.floor(length * (1 - most / count)) + 1 -- in the next window, in which this one weighs
