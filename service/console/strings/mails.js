// @ts-check
/** The texts of the outbox, in English. */

export const MAILS = {
  title: "Mail",
  caption: "Queued mails, and mails of the last seven days",
  created: "Written",
  kind: "About",
  recipient: "To",
  state: "State",
  attempts: "Attempts",
  next: "Next attempt",
  fault: "Last error",
  none: "No mail matches.",
  states: /** @type {Record<string, string>} */ ({ waiting: "Waiting", sent: "Sent", given_up: "Given up" }),
  kinds: /** @type {Record<string, string>} */ ({
    invitation: "Invitation",
    password_reset: "Forgotten password",
    address_confirmation: "Confirm an address",
    address_changed: "Address changed",
    recovery_changed: "Address for forgotten passwords changed",
    address_restored: "Address change undone",
    test: "Test",
  }),
};
