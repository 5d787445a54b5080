-- Prepended to every script of sessions. Times and lives are whole milliseconds; stored values hold seconds
-- with a fraction, as tokens do.
-- The first argument is the time of the worker that asks. The others are numbered without it.
local asked_at = tonumber(table.remove(ARGV, 1))

local read_at -- the time stands still while a script runs
local function clock()
  if not read_at then
    local time = redis.call('TIME')
    read_at = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return read_at
end

local function milliseconds(seconds)
  return math.floor((tonumber(seconds) or 0) * 1000 + 0.5)
end

-- Whether an instant was written while the store's clock was ahead: it is later than that clock and the worker's
-- say by more than the store's own steps of a millisecond and good clocks explain. What was ahead is set to now
-- where it is read, never dropped: see decision 0081.
local MOST_AHEAD = 1000
local function is_ahead(instant)
  return instant > math.max(clock(), asked_at) + MOST_AHEAD
end

-- Keeps the latest instant that was found ahead, for an hour at most: whoever watches the clocks tells of it.
local AHEAD_KEY, TOLD_FOR = 'auth:ahead', 3600000
local function tell_ahead(instant)
  local latest = math.max(instant, tonumber(redis.call('GET', AHEAD_KEY) or '0'))
  redis.call('SET', AHEAD_KEY, latest, 'PX', math.min(latest - clock(), TOLD_FOR))
end

local function deny_key(id) return 'auth:deny:' .. id end
local function ban_key(id) return 'auth:ban:' .. id end
local function device_key(id, device) return 'auth:device:' .. id .. ':' .. device end
-- The epoch of a user's rights; whoever has read them compares it, and reads them again if it is gone.
local function rights_key(id) return 'auth:rights:' .. id end
local all_rights_key, epoch_life = 'auth:rights', 86400
local function devices_key(id) return 'auth:devices:' .. id end
local function refresh_key(rid) return 'auth:refresh:' .. rid end
local function spent_key(rid) return 'auth:spent:' .. rid end
local function undelivered_key(id, device, issued)
  return 'auth:undelivered:' .. id .. ':' .. device .. ':' .. string.format('%.0f', tonumber(issued))
end

-- Gives a session the name that its tokens carry: one that no session has had before.
local function name_session(session)
  session.sid = string.sub(redis.sha1hex(session.rid .. string.format(' %.0f', clock())), 1, 16)
end

-- A session whose instants were ahead gets a new name with them: its tokens must be refreshed, whatever their
-- `iat` says.
local function read_session(id, device)
  local text = redis.call('GET', device_key(id, device))
  if not text then return end
  local session = cjson.decode(text)
  local opened, refreshed = milliseconds(session.login_time), milliseconds(session.last_refresh_time)
  local last = math.max(opened, refreshed)
  if is_ahead(last) then
    tell_ahead(last)
    session.login_time = math.min(opened, clock()) / 1000
    if session.auth_time then session.auth_time = math.min(milliseconds(session.auth_time), clock()) / 1000 end
    session.last_refresh_time = clock() / 1000
    name_session(session)
    redis.call('SET', device_key(id, device), cjson.encode(session), 'KEEPTTL')
  end
  return session
end

-- The live sessions of a user: {device = session}. Members whose session has expired are removed.
local function sessions_of(id)
  local found = {}
  for _, member in ipairs(redis.call('ZRANGE', devices_key(id), 0, -1)) do
    local device = string.sub(member, #id + 2)
    found[device] = read_session(id, device)
    if not found[device] then redis.call('ZREM', devices_key(id), member) end
  end
  return found
end

-- Removes at most a thousand expired members, so that no single request pays for very many.
local function sweep(index, now)
  local gone = redis.call('ZCOUNT', index, '-inf', now)
  if gone > 0 then redis.call('ZREMRANGEBYRANK', index, 0, math.min(gone, 1000) - 1) end
end

local function indexes(id, device, session)
  return {
    devices_key(id),
    'auth:online',
    'auth:online:user:' .. (session.user_name or ''),
    'auth:online:ip:' .. (session.login_ip or ''),
    'auth:online:device:' .. device,
  }
end

local function remember(id, device, session, now, ends)
  for _, index in ipairs(indexes(id, device, session)) do
    sweep(index, now)
    redis.call('ZADD', index, ends, id .. ':' .. device)
    if redis.call('PEXPIREAT', index, ends + 1000, 'NX') == 0 then
      redis.call('PEXPIREAT', index, ends + 1000, 'GT')
    end
  end
end

local function forget(id, device, session)
  for _, index in ipairs(indexes(id, device, session)) do
    redis.call('ZREM', index, id .. ':' .. device)
  end
end

-- Writes the session, its live refresh id and the indexes.
local function save(id, device, session, now, ends)
  redis.call('SET', device_key(id, device), cjson.encode(session), 'PXAT', ends)
  redis.call('SET', refresh_key(session.rid), id .. ':' .. device, 'PXAT', ends)
  remember(id, device, session, now, ends)
end

-- Ends a session; its refresh id is remembered as ended for the rest of its life.
local function finish(id, device, session)
  local rid = session.rid or ''
  local left = redis.call('PTTL', refresh_key(rid))
  if left > 0 then redis.call('SET', spent_key(rid), 'ended', 'PX', left) end
  redis.call('DEL', refresh_key(rid), device_key(id, device))
  forget(id, device, session)
end

-- Whether a ban was copied from the database.
local function is_cached_ban(id)
  local text = redis.call('GET', ban_key(id))
  return text and cjson.decode(text).cached or false
end

-- The latest time of the user's marker and of the tokens of live sessions.
local function latest(marker, sessions)
  local last = marker.at
  for _, session in pairs(sessions) do
    last = math.max(last, milliseconds(session.last_refresh_time))
  end
  return last
end

-- {banned, ends, at, text}: `ends` is -1 for a ban without end, `at` the time of a refresh marker or 0, `text`
-- what was stored, '' for nothing.
local function read_marker(id)
  local text = redis.call('GET', deny_key(id))
  if not text then return { at = 0, text = '' } end
  if text == 'banned' then
    return { banned = true, at = 0, text = text, ends = redis.call('PEXPIRETIME', deny_key(id)) }
  end
  local marker = { at = milliseconds(string.match(text, '^refresh:(.+)$')), text = text }
  if is_ahead(marker.at) then
    tell_ahead(marker.at)
    -- Not before a token that it stops: those of sessions which were ahead as well have lost their name.
    marker.at = latest({ at = clock() }, sessions_of(id))
    redis.call('SET', deny_key(id), string.format('refresh:%.3f', marker.at / 1000), 'KEEPTTL')
  end
  return marker
end

local all_ended = false

-- Ends the epoch of the user's rights, and once in a script the epoch of all rights. The new one depends on the
-- one before: an earlier value never returns, whatever the clock does, nor after a loss of the latest changes.
local function end_rights(id)
  redis.call('DEL', rights_key(id))
  if all_ended then return end
  local time = redis.call('TIME')
  local parts = { redis.call('GET', all_rights_key) or '', time[1], time[2], id }
  redis.call('SET', all_rights_key, redis.sha1hex(table.concat(parts, ' ')), 'EX', epoch_life)
  all_ended = true
end

-- Ends the epoch of the user's rights, and sets `refresh:{now}`, never over `banned` and never earlier: it is
-- at least every `iat` issued so far. No two markers of a user have the same text, which tells a login whether
-- the user was marked since it has looked: microseconds count those of one millisecond.
local function mark(id, now, life, sessions)
  end_rights(id)
  local marker = read_marker(id)
  if marker.banned then return end
  local at = math.max(now, latest(marker, sessions)) / 1000
  local before = tonumber(string.match(marker.text, '^refresh:(.+)$')) or 0
  if before >= at and not is_ahead(1000 * before) then at = before + 0.000001 end
  redis.call('SET', deny_key(id), string.format('refresh:%.6f', at), 'PX', life)
end
