-- The ban of a user. id -> nothing | until (-1: no end), note (JSON, or nothing: not set by this service)
local marker = read_marker(ARGV[1])
if not marker.banned then return false end
return { marker.ends, read('GET', ban_key(ARGV[1])) }
