// @ts-check
/** The texts of sign-offs of revisions, in English. Functions take what varies. */

export const SIGN_OFFS = {
  signOff: "Sign off",
  samePerson: (/** @type {string} */ reason) => `You cannot sign off this revision: ${reason}.`,
  title: (/** @type {number} */ revision) => `Sign off revision ${revision}`,
  text: "You confirm that you have reviewed this revision. The sign-off is stored permanently with your name.",
  name: "Title",
  nameHelp: "Such as reviewed 2026-Q4.",
  note: "Note",
  done: (/** @type {number} */ revision) => `Revision ${revision} was signed off.`,
  card: "Signed off",
  by: "By",
  time: "Time",
  kind: "Sign-offs",
  event: (/** @type {number} */ revision, /** @type {string} */ title, /** @type {string} */ by) =>
    `Revision ${revision} signed off by ${by}: ${title}`,
  since: "Since my sign-off",
};
