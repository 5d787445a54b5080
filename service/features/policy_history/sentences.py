"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "contents_not_stored": "The contents of that revision are not stored",
        "revision_not_restorable": "Revision {revision} can't be restored: {obstacles}",
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
