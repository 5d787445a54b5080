-- Ends the lease of a successor that was not delivered, unless another request has taken it over.
-- id, device, issued, leased until -> 1, or 0
local key = undelivered_key(ARGV[1], ARGV[2], ARGV[3])
if read('GET', key) ~= ARGV[4] then return 0 end
write('SET', key, 0, 'KEEPTTL')
return 1
