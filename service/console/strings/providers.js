// @ts-check
/** The texts of signing in with a provider, and of the directories that know a user, in English. */

export const PROVIDERS = {
  signIn: (/** @type {string} */ title) => `Sign in with ${title}`,
  refused: "The provider did not confirm your identity",
  notBegun: "The sign-in could not start",
  prove: (/** @type {string} */ title) => `Confirm at ${title}`,
  proveText: (/** @type {string} */ title) =>
    `You signed in with ${title} and can confirm there. You leave this page: your input is lost, and ` +
    "the request is not sent.",
};

export const ORIGINS = {
  title: "Sign-in with providers",
  tab: "Directories",
  about: "Signing in to one of these accounts also signs in to yours.",
  ofUser: "Directories with this user",
  none: "No directory has this user.",
  noneOwn: "Your account is not linked to a provider.",
  directory: "Directory",
  subject: "Name in the directory",
  linked: "Since",
  used: "Last sign-in",
  never: "Never",
  manages: "Manages the account",
  current: "This session",
  off: "Closed",
  link: (/** @type {string} */ title) => `Link to ${title}`,
  unlink: "Unlink",
  unlinkOne: (/** @type {string} */ title) => `Unlink: ${title}`,
  unlinkTitle: (/** @type {string} */ title) => `Unlink your account from ${title}?`,
  unlinkText:
    "You can no longer sign in with this provider. Roles that it assigned to you are revoked, and your " +
    "other sessions from it end.",
  unlinkUserTitle: (/** @type {string} */ title, /** @type {string} */ user) =>
    `Unlink ${user} from ${title}?`,
  unlinkUserText:
    "The account can no longer sign in with this provider. Roles that it assigned are revoked, and its sessions end.",
  unlinked: (/** @type {string} */ title) => `The account was unlinked from ${title}.`,
  managed: (/** @type {string} */ name) =>
    `The directory ${name} manages this account. Change names, address, phone number and state there.`,
  given: (/** @type {string} */ name) => `The directory ${name} assigned this role and can revoke it.`,
};
