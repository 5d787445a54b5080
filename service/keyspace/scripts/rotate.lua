-- Replaces a refresh id by its successor, once; returns the same successor again until it is delivered.
-- id, rid, next rid, changed facts (JSON), life, longest life, race window, grace, marker when the user was read,
-- marker life, latest moment to run (0: any), lease; for a step-up, whose rid is '', the device of the session, the
-- latest time at which that was opened, and the acr of the session as the caller knows it
-- -> rotated | again, issued, ends, name of the session, device, rid, leased until, acr, amr, auth_time
--    | pending | reused, device | superseded | ended | unknown | stale | late | banned, until
-- The lease is how long the caller may take to deliver the answer. The key of `undelivered_key` holds its end, for as
-- long as the session lives; the caller deletes the key when it delivers the answer.
local id, rid, next_rid, changes = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local life, longest = tonumber(ARGV[5]), tonumber(ARGV[6])
local race, grace, seen = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local latest_run, lease = tonumber(ARGV[11]), tonumber(ARGV[12])
local now = clock()

local function ends_after(issued, session)
  return math.min(issued + life, milliseconds(session.login_time) + longest)
end

-- The answer from which the tokens of the session's last refresh are issued.
local function tokens(outcome, device, session)
  local issued = milliseconds(session.last_refresh_time)
  local acr, amr = session.acr or 'pwd', table.concat(session.amr or { 'pwd' }, ' ')
  local auth_time = milliseconds(session.auth_time or session.login_time)
  local of_session = { session.sid or '', device, session.rid, now + lease, acr, amr, auth_time }
  return { outcome, issued, ends_after(issued, session), unpack(of_session) }
end

-- On a cluster the key of the lease has to be in KEYS, and names the instant: one that has just been takes the place
-- of now.
local function issue(least)
  local prefix = 'auth:undelivered:' .. id .. ':'
  for name in pairs(key_of) do
    local moment = string.sub(name, 1, #prefix) == prefix and tonumber(string.match(name, ':(%d+)$'))
    if moment and least <= moment and moment <= now and now - moment < 1000 then return moment end
  end
  return math.max(now, least)
end

-- Gives a session new times and the refresh id `following`, which one request may hand out.
-- -> their instant | nil, the answer that refuses it
local marker
local function renew(device, session, following)
  local issued = issue(latest(marker, { session }) + 1)
  local ends = ends_after(issued, session)
  if ends <= issued then
    finish(id, device, session)
    return nil, { 'ended' }
  end
  if marker.text ~= seen then return nil, { 'stale' } end
  put_everywhere(id, device, session)
  for name, value in pairs(cjson.decode(changes)) do
    session[name] = value
  end
  if ARGV[13] then session.auth_time = issued / 1000 end
  session.rid = following
  session.last_refresh_time = issued / 1000
  save(id, device, session, now, ends)
  write('SET', undelivered_key(id, device, issued), now + lease, 'PXAT', ends)
  return issued
end

-- Until when one request may hand out the live refresh id, and its key; nil once it is handed out. `noted` is the
-- instant of its tokens as the spent id has it: the clock may have been set since, or a step-up renewed the session.
-- No lease is longer than `lease`: if it seems so, the clock was set.
local function lease_of(device, session, noted)
  local last = milliseconds(session.last_refresh_time)
  local key = undelivered_key(id, device, last)
  local ends = tonumber(read('GET', key))
  if not ends and noted and noted ~= last then
    key = undelivered_key(id, device, noted)
    ends = tonumber(read('GET', key))
  end
  if ends and ends > now + lease then
    ends = now + lease
    write('SET', key, ends, 'KEEPTTL')
  end
  return ends, key
end

-- Hands out the live refresh id again, which nobody has got; at any age, as it is as good as the one before.
-- -> the answer, the instant of the tokens; nil for an id that was handed out
local function again(device, session, noted)
  local leased, key = lease_of(device, session, noted)
  if not leased then return end
  if now < leased then return { 'pending' } end
  local issued, refusal = renew(device, session, session.rid)
  if not issued then return refusal end
  write('DEL', key)
  return tokens('again', device, session), issued
end

local function keep(note)
  write('SET', spent_key(rid), cjson.encode(note), 'KEEPTTL')
end

-- A refresh id that is no longer live: a lost answer, two tabs racing, a repeat, or theft.
local function spent()
  local text = read('GET', spent_key(rid))
  if not text then return { 'unknown' } end
  if text == 'ended' then return { 'ended' } end
  local note = cjson.decode(text)
  if note.login_id ~= id then return { 'unknown' } end
  local session = read_session(id, note.device)
  if not session then return { 'ended' } end
  local unused, was_ahead = session.rid == note.next, is_ahead(note.spent)
  if not unused and milliseconds(session.login_time) ~= note.opened then return { 'ended' } end
  if was_ahead then
    tell_ahead(note.spent)
    note.spent = now
    keep(note)
  end
  local age = now - note.spent
  if unused then
    if 0 <= age and age < grace and not was_ahead then return tokens('again', note.device, session) end
    local answer, issued = again(note.device, session, note.issued)
    if issued then
      note.spent, note.issued = now, issued -- the race window of further requests starts now
      keep(note)
    end
    if answer then return answer end
  end
  if age < race then return { 'superseded' } end
  mark(id, now, tonumber(ARGV[10]), sessions_of(id))
  tell_marked()
  finish(id, note.device, session)
  return { 'reused', note.device }
end

if latest_run > 0 and now > latest_run then return { 'late' } end
marker = read_marker(id)
if marker.banned then return { 'banned', marker.ends } end

if rid == '' then
  local device = ARGV[13]
  local session = read_session(id, device)
  if not session or milliseconds(session.login_time) > tonumber(ARGV[14]) then return { 'ended' } end
  -- An older token may not know that the session rests on a stronger proof by now: none takes that away.
  local strength, acr = { pwd = 1, mfa = 2, phr = 3 }, session.acr or 'pwd'
  if acr ~= ARGV[15] and strength[cjson.decode(changes).acr] < strength[acr] then return { 'superseded' } end
  -- A refresh id that nobody has got stays, so that the one before it still leads to it.
  local answer = again(device, session)
  if answer then return answer end
  rid = session.rid
end
local owner = read('GET', refresh_key(rid))
if not owner then return spent() end
if string.sub(owner, 1, #id + 1) ~= id .. ':' then return { 'unknown' } end
local device = string.sub(owner, #id + 2)
local session = read_session(id, device)
if not session or session.rid ~= rid then
  write('DEL', refresh_key(rid))
  return { 'ended' }
end
local note = { login_id = id, device = device, opened = milliseconds(session.login_time), spent = now, next = next_rid }
local left = math.max(read('PTTL', refresh_key(rid)) or 1, 1)
local issued, refusal = renew(device, session, next_rid)
if not issued then return refusal end
note.issued = issued
write('SET', spent_key(rid), cjson.encode(note), 'PX', left)
write('DEL', refresh_key(rid))
return tokens('rotated', device, session)
