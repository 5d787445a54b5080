-- Prepended to the scripts that touch a list of revocations.
local revocations_key, most_revocations, revocations_life = 'auth:revocations', 50000, 691200
