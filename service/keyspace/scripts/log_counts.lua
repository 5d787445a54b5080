-- The counts of all log entries -> accepted, written, dropped, set aside, under way
forget_lost_entries()
local counts = {}
for _, name in ipairs({ 'accepted', 'written', 'dropped', 'set_aside', 'under_way' }) do
  counts[#counts + 1] = log_count(name)
end
return counts
