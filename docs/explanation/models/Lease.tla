------------------------------- MODULE Lease -------------------------------
(* The lease of a follower, which decides beside the service that asks: README.md explains it. The hub is this       *)
(* service; the follower has a copy of policy and rights, which a stream keeps current; the caller asks the          *)
(* follower. A frozen process looks to the others like a slow network, so it has no action of its own. Times are     *)
(* what has passed since something happened: so runs have no end.                                                    *)
EXTENDS Integers

CONSTANTS Broken,    \* the rule that is left out, or "none"
          Life,      \* of a lease, by the follower's clock (2 s)
          Bound,     \* how old a question may be when its answer is accepted, by the caller's clock
          Drift,     \* by how much either clock may fall behind the hub's in the time that is looked at
          Changes,   \* how many changes of rights there are
          Claimed    \* what is claimed of the age of accepted answers

Kept(rule) == Broken # rule
Versions == 0..Changes
Lapsed == Life + Drift + 1   \* by the hub's clock
NoLease == -1
NoQuestion == [asked |-> FALSE, age |-> 0, promised |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

VARIABLES
  version,    \* the newest version of the rights, at the hub
  outdated,   \* for how long each older version has been outdated
  promised,   \* the version of the newest change that was answered
  granted,    \* how long ago the hub has granted the last lease
  risky,      \* the same of the last lease that may still be of an older version
  has,        \* the version of the follower's copy
  left,       \* what is left of its lease, by its clock
  waiting,    \* whether it waits for the answer to its last renewal; matters only where it would wait for ever
  renewals,   \* on the way to the hub: how long ago each was sent, by the follower's clock, and what the follower had
  leases,     \* on the way back: the same age, and the version of the hub
  question,   \* of the caller: how old it is by its clock, and what was promised when it was asked
  answers,    \* on the way to the caller: the version, and whether the answer belongs to the question
  lag,        \* by how much the clocks of follower and caller are behind
  calm,       \* whether network and processes are quick from now on
  tooOld, unkept   \* what has happened: see the properties below
hub == <<version, outdated, promised, granted, risky>>
follower == <<has, left, waiting>>
caller == <<question, answers>>
others == <<lag, calm>>
happened == <<tooOld, unkept>>
vars == <<hub, follower, renewals, leases, caller, others, happened>>

Init ==
  /\ version = 0 /\ outdated = [v \in Versions |-> 0] /\ promised = 0 /\ granted = Lapsed /\ risky = Lapsed
  /\ has = 0 /\ left = NoLease /\ waiting = FALSE /\ renewals = {} /\ leases = {}
  /\ question = NoQuestion /\ answers = {} /\ lag = [follower |-> 0, caller |-> 0] /\ calm = FALSE
  /\ tooOld = FALSE /\ unkept = FALSE

(* --- The hub ---------------------------------------------------------------------------------------------------- *)

Change ==
  /\ version < Changes /\ version' = version + 1 /\ risky' = granted
  /\ UNCHANGED <<outdated, promised, granted, follower, renewals, leases, caller, others, happened>>

AnswerChange ==              \* as a setting: once followers have it, or their leases have lapsed
  /\ promised < version /\ promised' = version
  /\ risky = Lapsed \/ ~Kept("the hub waits for leases")
  /\ UNCHANGED <<version, outdated, granted, risky, follower, renewals, leases, caller, others, happened>>

Grant ==                     \* the renewal stays on the way, as it may come twice; lost is what never comes
  \E renewal \in renewals :
    \E read \in IF Kept("the hub reads after receiving") THEN {version} ELSE 0..version :
      /\ leases' = leases \cup {[age |-> renewal.age, version |-> read]} /\ granted' = 0
      /\ risky' = IF renewal.has = version THEN Lapsed ELSE risky
      /\ UNCHANGED <<version, outdated, promised, follower, renewals, caller, others, happened>>

(* --- The follower ----------------------------------------------------------------------------------------------- *)

Renew ==
  /\ ~waiting \/ Kept("renewed again without an answer")
  /\ renewals' = renewals \cup {[age |-> 0, has |-> has]} /\ waiting' = ~Kept("renewed again without an answer")
  /\ UNCHANGED <<hub, has, left, leases, caller, others, happened>>

Receive ==                   \* counts only if the copy is as new as the hub was
  \E lease \in leases :
    /\ waiting' = FALSE
    /\ left' = IF lease.version <= has \/ ~Kept("the copy is as new as the hub was")
               THEN Max(left, IF Kept("counted from sending") THEN Life - lease.age ELSE Life) ELSE left
    /\ UNCHANGED <<hub, has, renewals, leases, caller, others, happened>>

Follow ==                    \* the stream; what is older than the copy is ignored
  /\ \E v \in (IF Kept("never back to an older version") THEN has + 1 ELSE 0)..version : has' = v
  /\ UNCHANGED <<hub, left, waiting, renewals, leases, caller, others, happened>>

Restart ==                   \* from an old file, without a lease; it does not know what the one before has asked
  /\ ~calm /\ has' \in {0, has} /\ waiting' = FALSE /\ renewals' = {} /\ leases' = {}
  /\ left' = IF Kept("a start has no lease") THEN NoLease ELSE left
  /\ UNCHANGED <<hub, caller, others, happened>>

Decide ==                    \* looks at the lease after the question has come
  /\ question.asked
  /\ left # NoLease \/ ~Kept("without a lease it refuses")
  /\ answers' = answers \cup {[version |-> has, current |-> TRUE]}
  /\ UNCHANGED <<hub, follower, renewals, leases, question, others, happened>>

(* --- The caller ------------------------------------------------------------------------------------------------- *)

NoLongerAwaited ==           \* answers that come later do nothing, if they are told from those of the next question
  answers' = IF Kept("an answer belongs to its question") THEN {} ELSE {[a EXCEPT !.current = FALSE] : a \in answers}

Ask ==
  /\ ~question.asked /\ question' = [asked |-> TRUE, age |-> 0, promised |-> promised]
  /\ UNCHANGED <<hub, follower, renewals, leases, answers, others, happened>>

GiveUp ==
  /\ question.asked /\ question' = NoQuestion /\ NoLongerAwaited
  /\ UNCHANGED <<hub, follower, renewals, leases, others, happened>>

Accept ==
  /\ question.asked
  /\ question.age <= Bound \/ ~Kept("late answers are dropped")
  /\ \E answer \in answers :
       /\ tooOld' = (tooOld \/ outdated[answer.version] > Claimed)
       /\ unkept' = (unkept \/ answer.version < question.promised)
  /\ question' = NoQuestion /\ NoLongerAwaited
  /\ UNCHANGED <<hub, follower, renewals, leases, others>>

(* --- Time ------------------------------------------------------------------------------------------------------- *)

Older(messages) == {[m EXCEPT !.age = @ + 1] : m \in {m \in messages : m.age < Life}}

Tick ==                      \* each clock goes on, or falls behind by one
  /\ calm => has = version /\ left = Life   \* then all that has to be done is done in time
  /\ outdated' = [v \in Versions |-> IF v < version THEN Min(outdated[v] + 1, Claimed + 1) ELSE 0]
  /\ granted' = Min(granted + 1, Lapsed) /\ risky' = Min(risky + 1, Lapsed)
  /\ \E slow \in SUBSET {"follower", "caller"} :
       /\ lag' = [clock \in DOMAIN lag |->
                    IF clock \in slow /\ Kept("clocks go on while the machine sleeps") THEN lag[clock] + 1
                    ELSE lag[clock]]
       /\ lag'.follower <= Drift /\ lag'.caller <= Drift
       /\ IF "follower" \in slow THEN UNCHANGED <<left, renewals, leases>>
          ELSE left' = Max(left - 1, NoLease) /\ renewals' = Older(renewals) /\ leases' = Older(leases)
       /\ IF "caller" \in slow \/ ~question.asked THEN UNCHANGED question
          ELSE question' = [question EXCEPT !.age = Min(@ + 1, Bound + 1)]
  /\ UNCHANGED <<version, promised, has, waiting, answers, calm, happened>>

Calm ==
  /\ calm' = TRUE /\ UNCHANGED <<hub, follower, renewals, leases, caller, lag, happened>>

Lost ==
  /\ ~calm /\ renewals' = {} /\ leases' = {}
  /\ UNCHANGED <<hub, follower, caller, others, happened>>

Next == Change \/ AnswerChange \/ Grant \/ Renew \/ Receive \/ Follow \/ Restart \/ Decide \/ Ask \/ GiveUp \/ Accept
        \/ Tick
Spec == Init /\ [][Next]_vars

(* For what must happen at some time: messages are lost until the network is quick. *)
Healing == Init /\ [][Next \/ Lost \/ Calm]_vars
           /\ WF_vars(Calm) /\ WF_vars(Renew) /\ WF_vars(Grant) /\ WF_vars(Receive) /\ WF_vars(Follow)

(* --- What is proved --------------------------------------------------------------------------------------------- *)

(* No answer that a caller accepts is by rights that have been outdated for longer than is claimed. *)
NoOlderAnswer == ~tooOld

(* No question that was asked after the answer to a change is answered by rights from before it. *)
AnsweredIsFollowed == ~unkept

(* Once the network is quick and changes have ended, the follower answers by the newest rights, and goes on to. *)
Heals == <>[](left # NoLease /\ has = version)
=============================================================================
