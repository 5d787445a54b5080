-- Replaces a refresh id by its successor, once; returns the same successor again until it is delivered.
-- id, rid, next rid, changed facts (JSON), life, longest life, race window, grace, marker when the user was read,
-- marker life, latest moment to run (0: any), lease; for a step-up, whose rid is '', the device of the session, the
-- latest time at which that was opened, and the acr of the session as the caller knows it
-- -> rotated | again, issued, ends, name of the session, device, rid, leased until, acr, amr, auth_time
--    | pending | reused, device | superseded | ended | unknown | stale | late | banned, until
-- The lease is how long the caller may take to deliver the answer. The key of `undelivered_key` holds its end;
-- the caller deletes the key when it delivers the answer.
local id, rid, next_rid, changes = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local life, longest = tonumber(ARGV[5]), tonumber(ARGV[6])
local race, grace, seen = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local latest_run, lease = tonumber(ARGV[11]), tonumber(ARGV[12])
local now = clock()

local function ends_after(issued, session)
  return math.min(issued + life, milliseconds(session.login_time) + longest)
end

local function lease_out(outcome, note, session)
  local key = undelivered_key(id, note.device, note.issued)
  write('SET', key, now + lease, 'PX', math.max(race, 1) + lease)
  local ends, name = ends_after(note.issued, session), session.sid or ''
  local acr, amr = session.acr or 'pwd', table.concat(session.amr or { 'pwd' }, ' ')
  local auth_time = milliseconds(session.auth_time or session.login_time)
  return { outcome, note.issued, ends, name, note.device, note.next, now + lease, acr, amr, auth_time }
end

local function keep(note)
  write('SET', spent_key(rid), cjson.encode(note), 'KEEPTTL')
end

local moved_from -- the name of the lease before `follow`, which is still to be written

-- Until when one request may hand out the successor; nil once it is delivered. No lease is longer than `lease`: if
-- it seems so, the clock was set.
local function lease_of(note)
  local key = undelivered_key(id, note.device, note.issued)
  local ends = tonumber(read('GET', moved_from or key))
  if ends and ends > now + lease then
    ends = now + lease
    write('SET', key, ends, 'KEEPTTL')
  end
  return ends
end

-- The tokens of an unused successor are of the session's last refresh, also where that was ahead and is set.
local function follow(note, session)
  local issued = milliseconds(session.last_refresh_time)
  if issued == note.issued then return end
  local key = undelivered_key(id, note.device, note.issued)
  note.issued = issued
  if read('EXISTS', key) == 1 then
    write('RENAME', key, actual(undelivered_key(id, note.device, issued)))
    moved_from = key
  end
  keep(note)
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
  if unused then
    follow(note, session)
  elseif milliseconds(session.login_time) ~= note.opened then
    return { 'ended' }
  end
  if was_ahead then
    tell_ahead(note.spent)
    note.spent = now
    keep(note)
  end
  local age = now - note.spent
  if 0 <= age and age < grace and unused and not was_ahead then return lease_out('again', note, session) end
  if age < race then
    local leased = unused and lease_of(note)
    if not leased then return { 'superseded' } end
    if now < leased then return { 'pending' } end
    note.spent = now  -- the race window of further requests starts now
    keep(note)
    return lease_out('again', note, session)
  end
  mark(id, now, tonumber(ARGV[10]), sessions_of(id))
  tell_marked()
  finish(id, note.device, session)
  return { 'reused', note.device }
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

if latest_run > 0 and now > latest_run then return { 'late' } end
local marker = read_marker(id)
if marker.banned then return { 'banned', marker.ends } end

if rid == '' then
  local session = read_session(id, ARGV[13])
  if not session or milliseconds(session.login_time) > tonumber(ARGV[14]) then return { 'ended' } end
  -- An older token may not know that the session rests on a stronger proof by now: none takes that away.
  local strength, acr = { pwd = 1, mfa = 2, phr = 3 }, session.acr or 'pwd'
  if acr ~= ARGV[15] and strength[cjson.decode(changes).acr] < strength[acr] then return { 'superseded' } end
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
local issued = issue(latest(marker, { session }) + 1)
local ends = ends_after(issued, session)
if ends <= issued then
  finish(id, device, session)
  return { 'ended' }
end
if marker.text ~= seen then return { 'stale' } end

local note = {
  login_id = id,
  device = device,
  opened = milliseconds(session.login_time),
  spent = now,
  issued = issued,
  next = next_rid,
}
write('SET', spent_key(rid), cjson.encode(note), 'PX', math.max(read('PTTL', refresh_key(rid)) or 1, 1))
write('DEL', refresh_key(rid))
put_everywhere(id, device, session)
for name, value in pairs(cjson.decode(changes)) do
  session[name] = value
end
if ARGV[13] then session.auth_time = issued / 1000 end
session.rid = next_rid
session.last_refresh_time = issued / 1000
save(id, device, session, now, ends)
return lease_out('rotated', note, session)
