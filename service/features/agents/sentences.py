"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "delegation_being_changed": "The delegation is being changed",
        "too_many_delegations": "Too many delegations are being looked up",
        "only_services_are_agents": "Only a service account can be an agent",
        "no_such_agent": "There is no such agent",
        "owner_not_enabled_person": "must be the id of an enabled person",
        "agent_not_usable": "must be the id of an agent that is switched on and not suspended",
        "only_people_delegate": "Only a person can delegate to an agent",
        "too_many_own_delegations": "You have {most} delegations: end some of them first",
        "no_such_delegation": "There is no such delegation",
        "delegation_lasts_too_long": "must be at most {most} seconds",
        "delegation_of_everything": "must begin with a name: an agent can't have all permissions",
        "code_not_yours": "is not among your permissions",
        "ask_me_not_delegated": "is not among the permissions of the delegation",
        "service_unknown": "is not a known service",
        "too_many_approvals": "Too many calls of the agent wait for an approval",
        "body_not_seen": "The call needs an approval, but the proxy does not send its body",
        "no_such_approval": "No such call waits for your approval",
        "digest_of_another_call": "does not match this call",
        # Findings
        "agents_suspended": "{count, plural, one {# agent is} other {# agents are}} suspended, since the "
        "owner has left: {agents}",
        "give_agents_owners": "give each agent another owner, or delete its account",
        "agents_switched_off": "{count, plural, one {# agent} other {# agents}}, all switched off",
        "no_agent_suspended": "{count, plural, one {# agent} other {# agents}}, none suspended",
        "delegations_deleted": "{count} delegations deleted",
    }
)
