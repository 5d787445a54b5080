-- Replaces a refresh id by its successor, once; returns the same successor again until it is delivered.
-- id, rid, next rid, changed facts (JSON), life, longest life, race window, grace, as_of, marker life,
-- latest moment to run (0: any), lease
-- -> rotated | again, issued, ends, device, rid, leased until | pending | reused, device | superseded
--    | ended | unknown | stale | late | banned, until
-- The lease is how long the caller may take to deliver the answer. The key of `undelivered_key` holds its end;
-- the caller deletes the key when it delivers the answer.
local id, rid, next_rid, changes = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local life, longest = tonumber(ARGV[5]), tonumber(ARGV[6])
local race, grace, as_of = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local latest_run, lease = tonumber(ARGV[11]), tonumber(ARGV[12])
local now = clock()

local function ends_after(issued, session)
  return math.min(issued + life, milliseconds(session.login_time) + longest)
end

local function lease_out(outcome, note, session)
  local key = undelivered_key(id, note.device, note.issued)
  redis.call('SET', key, now + lease, 'PX', math.max(race, 1) + lease)
  return { outcome, note.issued, ends_after(note.issued, session), note.device, note.next, now + lease }
end

-- A refresh id that is no longer live: a lost answer, two tabs racing, a repeat, or theft.
local function spent()
  local text = redis.call('GET', spent_key(rid))
  if not text then return { 'unknown' } end
  if text == 'ended' then return { 'ended' } end
  local note = cjson.decode(text)
  if note.login_id ~= id then return { 'unknown' } end
  local session = read_session(id, note.device)
  if not session or milliseconds(session.login_time) ~= note.opened then return { 'ended' } end
  local age = now - note.spent
  local unused = session.rid == note.next
  if age < grace and unused then return lease_out('again', note, session) end
  if age < race then
    local leased = unused and redis.call('GET', undelivered_key(id, note.device, note.issued))
    if not leased then return { 'superseded' } end
    if now < tonumber(leased) then return { 'pending' } end
    note.spent = now  -- the race window of further requests starts now
    redis.call('SET', spent_key(rid), cjson.encode(note), 'KEEPTTL')
    return lease_out('again', note, session)
  end
  mark(id, now, tonumber(ARGV[10]), sessions_of(id))
  finish(id, note.device, session)
  return { 'reused', note.device }
end

if latest_run > 0 and now > latest_run then return { 'late' } end
local marker = read_marker(id)
if marker.banned then return { 'banned', marker.ends } end

local owner = redis.call('GET', refresh_key(rid))
if not owner then return spent() end
if string.sub(owner, 1, #id + 1) ~= id .. ':' then return { 'unknown' } end
local device = string.sub(owner, #id + 2)
local session = read_session(id, device)
if not session or session.rid ~= rid then
  redis.call('DEL', refresh_key(rid))
  return { 'ended' }
end
local issued = math.max(now, latest(marker, { session }) + 1)
local ends = ends_after(issued, session)
if ends <= issued then
  finish(id, device, session)
  return { 'ended' }
end
if marker.at >= as_of then return { 'stale' } end

local note = {
  login_id = id,
  device = device,
  opened = milliseconds(session.login_time),
  spent = now,
  issued = issued,
  next = next_rid,
}
redis.call('SET', spent_key(rid), cjson.encode(note), 'PX', math.max(redis.call('PTTL', refresh_key(rid)), 1))
redis.call('DEL', refresh_key(rid))
forget(id, device, session)
for name, value in pairs(cjson.decode(changes)) do
  session[name] = value
end
session.rid = next_rid
session.last_refresh_time = issued / 1000
save(id, device, session, now, ends)
return lease_out('rotated', note, session)
