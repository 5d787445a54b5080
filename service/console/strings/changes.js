// @ts-check
/** The texts of the view of changes, in English. Functions take what varies. */

export const CHANGES = {
  title: "Changes",
  sinces: /** @type {[number, string][]} */ ([
    [1, "Since yesterday"],
    [7, "Last 7 days"],
    [30, "Last 30 days"],
  ]),
  signOff: "Since my sign-off",
  revisions: "Between revisions",
  from: "After revision",
  to: "Up to revision",
  toHelp: "Empty for the revision in force.",
  later: "Must be a later revision.",
  show: "Show",
  between: (/** @type {number} */ from, /** @type {number} */ to) =>
    `After revision ${from}, up to revision ${to}.`,
  lines: (/** @type {number} */ from, /** @type {number} */ to) =>
    `Policy lines from revision ${from} to ${to}`,
  signedOff: (/** @type {string} */ title, /** @type {number} */ revision) =>
    `Since your sign-off of revision ${revision}: ${title}.`,
  noSignOff: "You have not signed off any revision. Sign off a revision on its page.",
  none: "No rights were changed.",
  service: "A start or a command",
  gained: "Gained",
  lost: "Lost",
  andMore: (/** @type {number} */ n) => `and ${n.toLocaleString()} more`,
  revision: (
    /** @type {number} */ n,
    /** @type {number | null} */ added,
    /** @type {number | null} */ removed,
  ) => (added === null || removed === null ? `Revision ${n}` : `Revision ${n}: lines +${added} −${removed}`),
  more: "Show more",
};
