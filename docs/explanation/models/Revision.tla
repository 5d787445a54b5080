------------------------------ MODULE Revision ------------------------------
(* Announcing and following a revision of the policy: README.md explains it.                                         *)
(* The code: service/authz/publishing/changes.py (who publishes), announced.py and watch.py (who keeps the           *)
(* announcement right), revisions.py and service/web/requests/guard.py (requests), and of service/keyspace           *)
(* revision_key.py, scripts/revision_raise.lua and scripts/revision_replace.lua.                                     *)
(* Left out: seals, a database that has lost revisions, revisions of commands (nobody announces them), and requests  *)
(* that do not read the session store.                                                                               *)
EXTENDS Integers

CONSTANTS Broken,    \* the rule that is left out, or "none"
          Workers,   \* 1..n; the request comes to worker 1, since requests at different ones do not touch
          Changes,   \* how many changes are tried
          Losses     \* how often the session store loses something

Kept(rule) == Broken # rule
Missing == [revision |-> 0, tag |-> 0]
Announcement(revision, tag) == [revision |-> revision, tag |-> tag]
Tag(try) == IF Kept("a random part in each announcement") THEN try ELSE 1
NoRequest == [step |-> "none", sent |-> 0, announced |-> 0, newest |-> 0]
NoLook == [step |-> "none", seen |-> Missing, newest |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

VARIABLES
  committed,  \* the newest revision of the database
  key,        \* the announcement: policy:revision in the session store
  past,       \* earlier values of the key, that a replica may still have
  wire,       \* commands on their way to the session store: late, in any order, perhaps never
  publisher,  \* who holds the lock of those who publish: idle, announcing, announced, saved (committed)
  tries,      \* how many changes were begun; also the tag of the announcement, random in the code
  inForce,    \* the revision by which each worker decides
  known,      \* what the database has told worker 1 for its requests: the newest revision
  look,       \* what each worker's watch has read
  request,    \* a request, and which revision was committed when it was sent
  losses,     \* how often the session store has lost something
  gap,        \* TRUE from a failover that has lost an announcement until it is written again
  decided     \* TRUE once a request was decided by a revision that is older than the one committed when it was sent
vars == <<committed, key, past, wire, publisher, tries, inForce, known, look, request, losses, gap, decided>>

Init ==
  /\ committed = 1 /\ key = Announcement(1, 0) /\ past = {} /\ wire = {} /\ publisher = "idle" /\ tries = 0
  /\ inForce = [w \in Workers |-> 1] /\ known = 1 /\ look = [w \in Workers |-> NoLook]
  /\ request = NoRequest
  /\ losses = 0 /\ gap = FALSE /\ decided = FALSE

Send(command) == wire' = wire \cup {command}
Raise(revision, tag) == [do |-> "raise", seen |-> Missing, to |-> Announcement(revision, tag)]
Replace(seen, revision) == [do |-> "replace", seen |-> seen, to |-> Announcement(revision, 0)]

(* --- Publishing: PolicyChanges.begin ---------------------------------------------------------------------------- *)

Begin ==                     \* take the lock, derive the policy
  /\ publisher = "idle" /\ tries < Changes /\ tries' = tries + 1
  /\ IF Kept("announced before the commit")
     THEN publisher' = "announcing" /\ Send(Raise(committed + 1, Tag(tries')))
     ELSE publisher' = "announced" /\ UNCHANGED wire
  /\ UNCHANGED <<committed, key, past, inForce, known, look, request, losses, gap, decided>>

Commit ==                    \* the announcement was confirmed; only then
  /\ publisher = "announced" /\ publisher' = "idle" /\ committed' = committed + 1
  /\ IF Kept("announced before the commit") THEN UNCHANGED wire ELSE Send(Raise(committed', Tag(tries)))
  /\ UNCHANGED <<key, past, tries, inForce, known, look, request, losses, gap, decided>>

RollBack ==                  \* refused, killed, or the session store did not answer: the command may still arrive
  /\ publisher # "idle" /\ publisher' = "idle"
  /\ UNCHANGED <<committed, key, past, wire, tries, inForce, known, look, request, losses, gap, decided>>

(* --- The session store ------------------------------------------------------------------------------------------ *)

Written(command) ==          \* revision_raise.lua, revision_replace.lua
  LET to == command.to IN
  IF command.do = "replace" THEN IF key = command.seen THEN to ELSE key
  ELSE IF to.revision >= key.revision \/ ~Kept("never lowered") THEN to
  ELSE IF to.tag # 0 THEN Announcement(key.revision, to.tag) ELSE key

Execute(command) ==
  /\ command \in wire /\ wire' = wire \ {command}
  /\ key' = Written(command) /\ past' = IF losses < Losses THEN past \cup {key} ELSE {}
  /\ publisher' = IF publisher = "announcing" /\ command.to.tag = Tag(tries) THEN "announced" ELSE publisher
  /\ gap' = (gap /\ (key'.revision < committed \/ publisher' = "announced"))
  /\ UNCHANGED <<committed, tries, inForce, known, look, request, losses, decided>>

Emptied ==                   \* it has lost everything, and all connections
  /\ losses < Losses /\ losses' = losses + 1 /\ key' = Missing /\ past' = {} /\ wire' = {} /\ gap' = FALSE
  /\ UNCHANGED <<committed, publisher, tries, inForce, known, look, request, decided>>

FailedOver ==                \* to a replica that lacks the last announcements
  /\ losses < Losses /\ losses' = losses + 1 /\ key' \in past /\ past' = {} /\ wire' = {}
  /\ gap' = (key' # Missing /\ (key'.revision < committed \/ publisher = "announced"))
  /\ UNCHANGED <<committed, publisher, tries, inForce, known, look, request, decided>>

(* --- Following: PolicyWatch.look, LivePolicy.load, AnnouncedRevision.keep --------------------------------------- *)

Look(w, changed) == look' = [look EXCEPT ![w] = changed]

ReadKey(w) ==                \* before the database
  /\ look[w].step = "none" /\ Look(w, [step |-> "key", seen |-> key, newest |-> 0])
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, known, request, losses, gap, decided>>

ReadDatabase(w) ==           \* and follow
  /\ look[w].step = "key" /\ Look(w, [look[w] EXCEPT !.step = "database", !.newest = committed])
  /\ inForce' = [inForce EXCEPT ![w] = Max(@, committed)]
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, known, request, losses, gap, decided>>

Keep(w) ==                   \* put right what differs, unless the key has another value by then
  LET seen == look[w].seen
      newest == look[w].newest
      unsure == seen = Missing \/ seen.revision > newest   \* an announced revision may be about to be committed
      settled == publisher = "idle" /\ committed = newest
  IN
  /\ look[w].step = "database" /\ Look(w, NoLook)
  /\ IF /\ seen.revision # newest /\ Kept("what differs is put right")
        /\ unsure => settled \/ ~Kept("settled under the lock")
     THEN Send(IF Kept("compared with what was seen") THEN Replace(seen, newest) ELSE Raise(newest, 0))
     ELSE UNCHANGED wire
  /\ UNCHANGED <<committed, key, past, publisher, tries, inForce, known, request, losses, gap, decided>>

(* --- Requests: AuthorizationGuard.admit, PublishedRevisions.announced ------------------------------------------- *)

Arrive ==
  /\ request.step = "none" /\ ~gap /\ request' = [NoRequest EXCEPT !.step = "sent", !.sent = committed]
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, known, look, losses, gap, decided>>

Check ==                    \* the session and the announcement, in one round trip; the documented gap is no claim
  /\ request.step = "sent"
  /\ request' = IF gap THEN NoRequest ELSE [request EXCEPT !.step = "checked", !.announced = key.revision]
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, known, look, losses, gap, decided>>

Ask ==                      \* the database, for a revision that is not known, by a question after the check
  LET announced == request.announced IN
  /\ request.step = "checked" /\ (announced = 0 \/ announced > inForce[1])
  /\ IF (announced # 0 /\ announced <= known) \/ ~Kept("asked after the check")
     THEN UNCHANGED known ELSE known' = committed
  /\ request' = [request EXCEPT !.step = "asked", !.newest = known']
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, look, losses, gap, decided>>

Decide ==
  LET announced == request.announced
      needed == IF announced = 0 THEN request.newest ELSE Min(announced, request.newest)
  IN
  /\ \/ request.step = "checked" /\ announced # 0 /\ announced <= inForce[1]
     \/ request.step = "asked" /\ needed <= inForce[1]
     \/ request.step = "checked" /\ ~Kept("a worker that lags refuses")
  /\ decided' = (decided \/ inForce[1] < request.sent)
  /\ request' = NoRequest
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, known, look, losses, gap>>

Refuse ==                   \* 503, after two seconds or because a store does not answer
  /\ request.step # "none" /\ request' = NoRequest
  /\ UNCHANGED <<committed, key, past, wire, publisher, tries, inForce, known, look, losses, gap, decided>>

Next ==
  \/ Begin \/ Commit \/ RollBack \/ Emptied \/ FailedOver
  \/ \E command \in wire : Execute(command)
  \/ \E w \in Workers : ReadKey(w) \/ ReadDatabase(w) \/ Keep(w)
  \/ Arrive \/ Check \/ Ask \/ Decide \/ Refuse

Spec == Init /\ [][Next]_vars

(* For what must happen at some time: watches go on, of commands that are sent again and again some arrive, and no   *)
(* change hangs.                                                                                                     *)
Healing ==
  /\ Spec /\ WF_vars(Commit \/ RollBack) /\ SF_vars(\E command \in wire : Execute(command))
  /\ \A w \in Workers : WF_vars(ReadKey(w) \/ ReadDatabase(w) \/ Keep(w))

(* --- What is proved --------------------------------------------------------------------------------------------- *)

(* No request is decided by a revision older than the one that was committed when the request was sent: so neither   *)
(* after the answer to a change, nor after any request was decided by the newer one.                                 *)
NoOlderDecision == ~decided

(* Once changes and losses have ended, the announcement and all workers agree with the database. *)
Heals == <>[](key.revision = committed /\ \A w \in Workers : inForce[w] = committed)
=============================================================================
