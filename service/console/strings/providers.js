// @ts-check
/** The texts of signing in with a provider, and of the directories that know a user, in English. */

export const PROVIDERS = {
  signIn: (/** @type {string} */ title) => `Sign in with ${title}`,
  refused: "The provider has not confirmed who you are",
  notBegun: "The sign-in could not begin",
  prove: (/** @type {string} */ title) => `Confirm at ${title}`,
  proveText: (/** @type {string} */ title) =>
    `You have signed in with ${title}, and can confirm there. You leave this page for that: what you have typed on ` +
    "it is lost, and the request is not sent.",
};

export const ORIGINS = {
  title: "Sign-in with providers",
  tab: "Directories",
  about: "Whoever signs in to one of these accounts is signed in to yours.",
  ofUser: "Directories that know this user",
  none: "No directory knows this user.",
  noneOwn: "Your account is linked with no provider.",
  directory: "Directory",
  subject: "Known there as",
  linked: "Since",
  used: "Last sign-in",
  never: "Never",
  manages: "Manages the account",
  current: "This session",
  off: "Closed",
  link: (/** @type {string} */ title) => `Link with ${title}`,
  unlink: "Unlink",
  unlinkOne: (/** @type {string} */ title) => `Unlink: ${title}`,
  unlinkTitle: (/** @type {string} */ title) => `Unlink your account from ${title}?`,
  unlinkText:
    "You can't sign in there any more. Roles that it has given to you end, and so do your other sessions from there.",
  unlinkUserTitle: (/** @type {string} */ title, /** @type {string} */ user) =>
    `Unlink ${user} from ${title}?`,
  unlinkUserText:
    "Nobody signs in to the account there any more. Roles that it has given end, and so do its sessions.",
  unlinked: (/** @type {string} */ title) => `The account was unlinked from ${title}.`,
  managed: (/** @type {string} */ name) =>
    `The directory ${name} manages this account: names, address, phone number and state are changed there.`,
  managedBy: "Managed by",
  given: (/** @type {string} */ name) => `The directory ${name} has given this role, and takes it away.`,
};
