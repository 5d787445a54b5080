------------------------------ MODULE Refresh ------------------------------
(* The rotation of refresh tokens, with answers that are lost and a token that is stolen: README.md explains it.     *)
(* The code: service/keyspace/scripts/rotate.lua and release.lua, service/keyspace/deliveries.py, service/keyspace/  *)
(* store.py and service/authn/refresh.py. Left out: markers, bans, step-up, refresh_grace (0) and the end of a life. *)
EXTENDS Integers

CONSTANTS Broken,            \* the rule that is left out, or "none"
          Timeout,           \* how long a request waits for the session store
          Lease,             \* how long it may take to hand out tokens, counted from before it asked the store
          Race,              \* refresh_race_window
          LastId, LastTime   \* bounds of what is checked

ASSUME Timeout < Lease /\ Lease < Race

Kept(rule) == Broken # rule
Ids == 1..LastId
Ended == 0                   \* in place of the live refresh id
Nobody == -1                 \* no key auth:undelivered: nobody is handed the successor any more
OfOwner == {"first", "second"}   \* the requests: two of the owner, of whom a repeat may overtake, and one of the thief
Requests == OfOwner \cup {"thief"}
Free == [state |-> "free", id |-> 0, at |-> 0, until |-> 0]

VARIABLES
  now,          \* the time of the session store
  live,         \* the live refresh id of the session; the successor of id is id + 1
  spent,        \* when each id was spent (auth:spent); 0: it was not
  undelivered,  \* until when one request may hand out the successor of each id; 0: released
  confirming,   \* confirmations on their way to the store
  request,      \* the requests in flight: asked, abandoned (its script still comes), leased, answered
  waits,        \* the request that the owner waits for, or "none"
  owner, thief, \* the newest id that each of them has; 0: none
  stolen,       \* the id that the thief has copied; 0: none
  given,        \* when the successor of each id was handed out; 0: it was not
  twice, lost, shutOut, replayed   \* what has happened: see the properties below
store == <<live, spent, undelivered>>
happened == <<twice, lost, shutOut, replayed>>
vars == <<now, store, confirming, request, waits, owner, thief, stolen, given, happened>>

Init ==
  /\ now = 1 /\ live = 1 /\ spent = [id \in Ids |-> 0] /\ undelivered = [id \in Ids |-> Nobody]
  /\ confirming = {} /\ request = [r \in Requests |-> Free] /\ waits = "none"
  /\ owner = 1 /\ thief = 0 /\ stolen = 0 /\ given = [id \in Ids |-> 0]
  /\ twice = FALSE /\ lost = FALSE /\ shutOut = FALSE /\ replayed = FALSE

Put(r, changed) == request' = [request EXCEPT ![r] = changed]
NoLongerAwaited(r) == waits' = IF waits = r THEN "none" ELSE waits

(* --- The clients ------------------------------------------------------------------------------------------------ *)

Asked(id) == [state |-> "asked", id |-> id, at |-> now, until |-> 0]

OwnerAsks(r) ==              \* also again, with the same token, after 503 or a broken connection
  /\ r = (IF request["first"] = Free THEN "first" ELSE "second") /\ request[r] = Free
  /\ waits = "none" /\ ~shutOut /\ owner < LastId
  /\ Put(r, Asked(owner)) /\ waits' = r
  /\ UNCHANGED <<now, store, confirming, owner, thief, stolen, given, happened>>

OwnerHangsUp ==
  /\ waits # "none" /\ waits' = "none"
  /\ UNCHANGED <<now, store, confirming, request, owner, thief, stolen, given, happened>>

ThiefCopies ==
  /\ stolen = 0 /\ stolen' = owner /\ thief' = owner
  /\ UNCHANGED <<now, store, confirming, request, waits, owner, given, happened>>

(* --- The session store: rotate.lua ------------------------------------------------------------------------------ *)

Refused(r) == Put(r, Free) /\ NoLongerAwaited(r) /\ shutOut' = (shutOut \/ waits = r)
Unavailable(r) == Put(r, Free) /\ NoLongerAwaited(r) /\ UNCHANGED shutOut
LeasedOut(r, id, at) ==      \* lease_out; a request that was given up holds no lease
  /\ spent' = [spent EXCEPT ![id] = now]
  /\ undelivered' = [undelivered EXCEPT ![id] = IF Kept("undelivered marker") THEN now + Lease ELSE Nobody]
  /\ Put(r, IF request[r].state = "abandoned" THEN Free
            ELSE [state |-> "leased", id |-> id, at |-> at, until |-> now + Lease])
  /\ UNCHANGED <<waits, shutOut>>

Rotate(r, id, at) ==         \* asked at the time at with the token id
  LET
      unused == live = id + 1
      leased == IF unused THEN undelivered[id] ELSE Nobody
      late == Kept("late means nothing") /\ now > at + Timeout
      known == live # id /\ live # Ended /\ ~late
      old == now - spent[id] >= Race
  IN
  /\ replayed' = (replayed \/ (known /\ given[id] # 0 /\ now >= given[id] + Race))
  /\ CASE late -> Unavailable(r) /\ UNCHANGED store
       [] ~late /\ live = Ended -> Refused(r) /\ UNCHANGED store
       [] ~late /\ live = id -> live' = id + 1 /\ LeasedOut(r, id, at)
       [] OTHER ->           \* the function spent() of the script
            CASE old /\ (leased = Nobody \/ ~Kept("no theft before it is handed out")) ->               \* reused
                   /\ live' = IF Kept("a replay ends the session") THEN Ended ELSE live
                   /\ Refused(r) /\ UNCHANGED <<spent, undelivered>>
              [] ~old /\ leased = Nobody -> Refused(r) /\ UNCHANGED store                            \* superseded
              [] leased # Nobody /\ now < leased /\ Kept("one lease at a time") ->
                   Unavailable(r) /\ UNCHANGED store                                                    \* pending
              [] OTHER -> LeasedOut(r, id, at) /\ UNCHANGED live                                      \* again
  /\ UNCHANGED <<now, confirming, owner, thief, stolen, given, twice, lost>>

RotateForOwner(r) ==
  request[r].state \in {"asked", "abandoned"} /\ Rotate(r, request[r].id, request[r].at)

RotateForThief ==            \* who can as well ask later as wait for the store: so nothing comes between
  request["thief"] = Free /\ \E id \in {stolen, thief} \ {0} : id < LastId /\ Rotate("thief", id, now)

(* --- The service: refresh.py, deliveries.py --------------------------------------------------------------------- *)

GivenUp(r) ==                \* killed, or answered 503: its script is still on the way
  /\ request[r].state = "asked"
  /\ Put(r, [request[r] EXCEPT !.state = "abandoned"]) /\ NoLongerAwaited(r)
  /\ UNCHANGED <<now, store, confirming, owner, thief, stolen, given, happened>>

Answer(r) ==                 \* 200 with the successor; the owner may have hung up, and the network may lose it
  LET id == request[r].id IN
  /\ given' = [given EXCEPT ![id] = now] /\ twice' = (twice \/ given[id] # 0)
  /\ IF r = "thief" THEN thief' = id + 1 /\ UNCHANGED <<owner, lost>>
     ELSE \/ waits = r /\ owner' = id + 1 /\ UNCHANGED <<thief, lost>>
          \/ lost' = TRUE /\ UNCHANGED <<owner, thief>>
  /\ NoLongerAwaited(r)

HandOut(r) ==                \* Deliveries.confirm, and the answer right after it
  /\ request[r].state = "leased" /\ Kept("confirm, then answer")
  /\ now < request[r].at + Lease \/ ~Kept("the request looks whether its lease is over")
  /\ confirming' = IF Kept("confirmation") THEN confirming \cup {request[r].id} ELSE confirming
  /\ Answer(r) /\ Put(r, Free)
  /\ UNCHANGED <<now, store, stolen, shutOut, replayed>>

AnswerFirst(r) ==            \* only where the rule is left out: the process may be killed before it confirms
  /\ request[r].state = "leased" /\ ~Kept("confirm, then answer") /\ now < request[r].at + Lease
  /\ Answer(r) /\ Put(r, [request[r] EXCEPT !.state = "answered"])
  /\ UNCHANGED <<now, store, confirming, stolen, shutOut, replayed>>

ConfirmAfterwards(r) ==
  /\ request[r].state = "answered"
  /\ \E done \in {{}, {request[r].id}} : confirming' = confirming \cup done
  /\ Put(r, Free)
  /\ UNCHANGED <<now, store, waits, owner, thief, stolen, given, happened>>

Fails(r) ==                  \* killed, or its lease is over: nothing is handed out, and the client sees that
  /\ request[r].state = "leased" /\ Put(r, Free) /\ NoLongerAwaited(r)
  /\ UNCHANGED <<now, store, confirming, owner, thief, stolen, given, happened>>

Release(r) ==                \* the client is gone, or no tokens can be issued; release.lua
  LET id == request[r].id IN
  /\ request[r].state = "leased" /\ Put(r, Free) /\ NoLongerAwaited(r)
  /\ undelivered' = [undelivered EXCEPT ![id] = IF @ = request[r].until THEN 0 ELSE @]
  /\ UNCHANGED <<now, live, spent, confirming, owner, thief, stolen, given, happened>>

Confirmed(id) ==             \* the DEL of a confirmation; it is sent again until the store has answered it
  /\ id \in confirming /\ confirming' = confirming \ {id}
  /\ undelivered' = [undelivered EXCEPT ![id] = Nobody]
  /\ UNCHANGED <<now, live, spent, request, waits, owner, thief, stolen, given, happened>>

Tick ==                      \* the assumption: a confirmation arrives before the end of the lease
  /\ now < LastTime /\ now' = now + 1
  /\ Kept("confirmed within the lease") => \A id \in confirming : undelivered[id] # now + 1
  /\ UNCHANGED <<store, confirming, request, waits, owner, thief, stolen, given, happened>>

Next ==
  \/ OwnerHangsUp \/ ThiefCopies \/ RotateForThief \/ Tick
  \/ \E r \in Requests : OwnerAsks(r) \/ RotateForOwner(r) \/ GivenUp(r) \/ HandOut(r) \/ AnswerFirst(r)
                         \/ ConfirmAfterwards(r) \/ Fails(r) \/ Release(r)
  \/ \E id \in Ids : Confirmed(id)

Spec == Init /\ [][Next]_vars

(* --- What is proved --------------------------------------------------------------------------------------------- *)

(* Each successor is handed out once. So of two who have the same token, only one goes on. *)
OnlyOneGoesOn == ~twice

(* A spent token that was answered, and comes back after the window, ends the session. *)
ReplayEndsSession == replayed => live = Ended

(* Without a thief, an owner who repeats is never refused, however late, unless an answer was lost that was handed   *)
(* to the network.                                                                                                   *)
OwnerKeepsSession == shutOut => stolen # 0 \/ lost
=============================================================================
