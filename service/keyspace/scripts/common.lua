-- Prepended to every script of sessions, whose text becomes the function `main`. Times and lives are whole
-- milliseconds; stored values hold seconds with a fraction, as tokens do.
-- KEYS are the keys that the script may touch. Arguments: the time of the worker that asks; 1 on a cluster; on a
-- cluster the revocations that have been told for this call (JSON, '' for none), and the documented name of each key,
-- by which it is spoken of here; then what the script says.
-- A cluster moves keys while scripts run, and ends one half-way that touches a key which is not in KEYS. So nothing
-- is written before all has been read, and a script that needs other keys writes nothing, but answers which:
-- it is called again with them. One server has all keys, and needs none of that.
-- -> 'done' ('read' if nothing was written), answer, and on a cluster what its other keys have to be given: the instant
--    that was ahead (0: none), 1 if the epoch of all rights ends, changes of the indexes (JSON) | 'need', the instant that was ahead,
--    revocations to be told first (JSON, '' for none), names...
local asked_at, apart = tonumber(ARGV[1]), ARGV[2] == '1'
local key_of, words, told = {}, {}, {}
do
  local first = apart and 4 + #KEYS or 3
  for place, key in ipairs(KEYS) do key_of[apart and ARGV[3 + place] or key] = key end
  for place = first, #ARGV do words[#words + 1] = ARGV[place] end
  for _, row in ipairs(apart and ARGV[3] ~= '' and cjson.decode(ARGV[3]) or {}) do
    local what = row[1] .. ' ' .. row[2]
    told[what] = math.max(told[what] or 0, row[3])
  end
end
local ARGV = words

local needed, is_needed, fixes, writes, of_indexes = {}, {}, {}, {}, {}
local function actual(name)
  local key = key_of[name] or (not apart and name)
  if not key and not is_needed[name] then
    is_needed[name] = true
    needed[#needed + 1] = name
  end
  return key
end

-- The answer of a command that only reads; false where the key is needed first.
local function read(command, name, ...)
  local key = actual(name)
  return key and redis.call(command, key, ...)
end

-- Keeps a command until everything has been read; what was read before it stays as it was.
local function write(command, name, ...)
  writes[#writes + 1] = { command, actual(name), ... }
end

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
-- where it is read, never dropped: see decision 0019.
local MOST_AHEAD = 1000
local function is_ahead(instant)
  return instant > math.max(clock(), asked_at) + MOST_AHEAD
end

-- Keeps the latest instant that was found ahead, for an hour at most: whoever watches the clocks tells of it.
local AHEAD_KEY, TOLD_FOR = 'auth:ahead', 3600000
local latest_ahead = 0
local function tell_ahead(instant)
  latest_ahead = math.max(instant, latest_ahead)
end

local function deny_key(id) return 'auth:deny:' .. id end
local function ban_key(id) return 'auth:ban:' .. id end
local function device_key(id, device) return 'auth:device:' .. id .. ':' .. device end
-- The ID token of the sign-in at a provider by which a session was opened; it lives as long as the session.
local function id_token_key(id, device) return 'auth:idtoken:' .. id .. ':' .. device end
-- The epoch of a user's rights; whoever has read them compares it, and reads them again if it is gone.
local function rights_key(id) return 'auth:rights:' .. id end
local all_rights_key, epoch_life = 'auth:rights', 86400
local function devices_key(id) return 'auth:devices:' .. id end
local function refresh_key(rid) return 'auth:refresh:' .. rid end
local function spent_key(rid) return 'auth:spent:' .. rid end
local function undelivered_key(id, device, issued)
  return 'auth:undelivered:' .. id .. ':' .. device .. ':' .. string.format('%.0f', tonumber(issued))
end

-- What ends tokens is told in a list, in the order in which it happens: `marked` with users and times before which
-- their tokens count no more, `ended` with the name of a session. The first entry says since when the list is whole.
-- It ends eight days after its last entry, or after it was last read if that is later.
local is_begun = apart -- see `revocations`
local function begin_revocations()
  if is_begun then return end
  is_begun = true
  if read('EXISTS', revocations_key) == 0 then write('XADD', revocations_key, '*', 'begun', '1') end
  write('EXPIRE', revocations_key, revocations_life)
end

-- On a cluster the lists are elsewhere. So there a revocation is told before it is made: until each one of a script has
-- been told, for all tokens that it ends, the script writes nothing and answers what is to be told. See decision 0115.
-- `fixed` are those of `fixes`.
local untold, fixed = {}, {}
local AGAIN = 500 -- told with that much time to come, once tokens were issued since it was told before

-- Until which instant a revocation of tokens that were issued until `instant` has been told; nil if it has to be.
local function told_until(name, value, instant, rows)
  local before = told[name .. ' ' .. value]
  if before and before >= instant then return before end
  rows[#rows + 1] = { name, value, math.max(instant, clock()) + (before and AGAIN or 0) }
end

local function tell(name, value)
  begin_revocations()
  write('XADD', revocations_key, 'MAXLEN', '~', most_revocations, '*', name, value)
end

-- Tells that the session ends.
local function tell_ended(session, last, rows)
  if not session.sid then return true end
  if apart then return told_until('ended', session.sid, last, rows) end
  tell('ended', session.sid)
  return true
end

-- Gives a session the name that its tokens carry: one that no session has had before.
local function name_session(session)
  session.sid = string.sub(redis.sha1hex(session.rid .. string.format(' %.0f', clock())), 1, 16)
end

-- A session whose instants were ahead gets a new name with them: its tokens must be refreshed, whatever their
-- `iat` says.
local sessions_read = {}
local function read_session(id, device)
  local name = device_key(id, device)
  if sessions_read[name] then return sessions_read[name] end
  local text = read('GET', name)
  if not text then return end
  local session = cjson.decode(text)
  local opened, refreshed = milliseconds(session.login_time), milliseconds(session.last_refresh_time)
  local last = math.max(opened, refreshed)
  if is_ahead(last) then
    tell_ahead(last)
    local is_told = tell_ended(session, 0, fixed)
    session.login_time = math.min(opened, clock()) / 1000
    if session.auth_time then session.auth_time = math.min(milliseconds(session.auth_time), clock()) / 1000 end
    session.last_refresh_time = clock() / 1000
    name_session(session)
    -- Right by itself, whatever else the script needs; else each call would give it another time.
    if is_told then fixes[#fixes + 1] = { 'SET', actual(name), cjson.encode(session), 'KEEPTTL' } end
  end
  sessions_read[name] = session
  return session
end

-- The live sessions of a user: {device = session}. Members whose session has expired are removed.
local function sessions_of(id)
  local found = {}
  for _, member in ipairs(read('ZRANGE', devices_key(id), 0, -1) or {}) do
    local device = string.sub(member, #id + 2)
    found[device] = read_session(id, device)
    if not found[device] then write('ZREM', devices_key(id), member) end
  end
  return found
end

-- The indexes of all users; on a cluster they are elsewhere, and their changes are returned.
local function indexes(device, session)
  return {
    'auth:online',
    'auth:online:user:' .. (session.user_name or ''),
    'auth:online:ip:' .. (session.login_ip or ''),
    'auth:online:device:' .. device,
  }
end

-- Puts a session into an index, or takes it out (no `ends`). At most a thousand expired members are removed, so that
-- no single request pays for very many.
local function put(index, member, now, ends)
  if not ends then return write('ZREM', index, member) end
  local gone = read('ZCOUNT', index, '-inf', now) or 0
  if gone > 0 then write('ZREMRANGEBYRANK', index, 0, math.min(gone, 1000) - 1) end
  write('ZADD', index, ends, member)
  write('PEXPIREAT', index, ends + 1000, 'NX')
  write('PEXPIREAT', index, ends + 1000, 'GT')
end

local function put_everywhere(id, device, session, now, ends)
  local member = id .. ':' .. device
  put(devices_key(id), member, now, ends)
  for _, index in ipairs(indexes(device, session)) do
    if apart then
      of_indexes[#of_indexes + 1] = { index, member, ends and string.format('%.0f', ends) or '' }
    else
      put(index, member, now, ends)
    end
  end
end

-- Writes the session, its live refresh id and the indexes.
local function save(id, device, session, now, ends)
  write('SET', device_key(id, device), cjson.encode(session), 'PXAT', ends)
  write('SET', refresh_key(session.rid), id .. ':' .. device, 'PXAT', ends)
  if session.sign_in then write('PEXPIREAT', id_token_key(id, device), ends) end
  put_everywhere(id, device, session, now, ends)
end

-- Ends a session; its refresh id is remembered as ended for the rest of its life.
local function finish(id, device, session)
  local rid = session.rid or ''
  local left = read('PTTL', refresh_key(rid)) or 1
  if left > 0 then write('SET', spent_key(rid), 'ended', 'PX', left) end
  write('DEL', refresh_key(rid))
  write('DEL', device_key(id, device))
  if session.sign_in then write('DEL', id_token_key(id, device)) end
  put_everywhere(id, device, session)
  tell_ended(session, milliseconds(session.last_refresh_time), untold)
end

-- Whether a ban was copied from the database.
local function is_cached_ban(id)
  local text = read('GET', ban_key(id))
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
  local text = read('GET', deny_key(id))
  if not text then return { at = 0, text = '' } end
  if text == 'banned' then
    return { banned = true, at = 0, text = text, ends = read('PEXPIRETIME', deny_key(id)) }
  end
  local marker = { at = milliseconds(string.match(text, '^refresh:(.+)$')), text = text }
  if is_ahead(marker.at) then
    tell_ahead(marker.at)
    -- Not before a token that it stops: those of sessions which were ahead as well have lost their name.
    marker.at = latest({ at = clock() }, sessions_of(id))
    write('SET', deny_key(id), string.format('refresh:%.3f', marker.at / 1000), 'KEEPTTL')
  end
  return marker
end

local all_ended = false

-- Ends the epoch of the user's rights, and once in a script the epoch of all rights. The new one depends on the
-- one before: an earlier value never returns, whatever the clock does, nor after a loss of the latest changes.
local function end_rights(id)
  write('DEL', rights_key(id))
  if all_ended then return end
  all_ended = true
  if apart then return end
  local time = redis.call('TIME')
  local parts = { read('GET', all_rights_key) or '', time[1], time[2], id }
  write('SET', all_rights_key, redis.sha1hex(table.concat(parts, ' ')), 'EX', epoch_life)
end

-- Ends the epoch of the user's rights, and sets `refresh:{now}`, never over `banned` and never earlier: it is
-- at least every `iat` issued so far. No two markers of a user have the same text, which tells a login whether
-- the user was marked since it has looked: microseconds count those of one millisecond. Whoever marks calls
-- `tell_marked` at the end.
local marked = {}
local function tell_marked()
  if #marked > 0 and not apart then tell('marked', table.concat(marked, ' ')) end
end

local function mark(id, now, life, sessions)
  end_rights(id)
  local marker = read_marker(id)
  if marker.banned then return end
  local last = latest(marker, sessions)
  local at = math.max(now, last)
  -- Not later than it was told, which is never before a token that it stops.
  if apart then at = math.min(at, told_until('marked', id, last, untold) or at) end
  at = at / 1000
  local before = tonumber(string.match(marker.text, '^refresh:(.+)$')) or 0
  if before >= at and not is_ahead(1000 * before) then at = before + 0.000001 end
  write('SET', deny_key(id), string.format('refresh:%.6f', at), 'PX', life)
  marked[#marked + 1] = string.format('%s:%.0f', id, milliseconds(at))
end
