"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "contents_not_stored": "The contents of that revision are not stored",
        "revision_not_restorable": "Revision {revision} can't be restored: {obstacles}",
        "obstacle": "{name}: {reason}",
        "obstacles_listed": "{first}; {rest}",
        "obstacles_more": "and {count} more",
        "button_title_not_stored": "the title of its Button is not stored",
        "button_used_by_roles": "its Button would be deleted; first remove it from the roles: {roles}",
        "button_state_not_stored": "the state of the Button of {code} is not stored",
        "disabled_buttons_not_stored": "its disabled Buttons are not stored",
        "buttons_not_stored": "its Buttons are not stored",
        "resource_name_not_stored": "its name is not stored",
        "code_of_other_resource": "its code {code} is now that of resource {resource}",
        "role_gone": "the role no longer exists",
        "role_disabled": "the role is disabled",
        "rule_limits_not_stored": "the limits of its request rule are not stored",
        "rows_changed_directly": "Revision {revision} cannot be restored from the stored data: rows were "
        "changed directly in the database. Reload the policy first, and check the difference",
        "restore_too_large": "{count} resources and permission codes differ from revision {revision}; at "
        "most {most} can be restored at once",
        "state_refused": "{reasons}",
        "menu_below_button": "Menu {menu} is below a Button or below itself: correct that first",
        "button_below_button": "Button {code} is below a Button: correct that first",
        "cause_restored": "revision {revision} restored",
        "cause_state_applied": "state file {file} applied",
    }
)
