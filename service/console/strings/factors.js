// @ts-check
/** The texts of the own second factors, in English. Functions take what varies. */

export const FACTORS = {
  title: "Second factors",
  about: "A second factor protects your account if someone learns your password.",
  none: "You have no second factor. Add an app that shows codes, or a passkey.",
  name: "Name",
  nameHelp: "A name that distinguishes it from your other factors.",
  kind: "Kind",
  kinds: /** @type {Record<string, string>} */ ({
    totp: "Authenticator app",
    passkey: "Passkey",
    recovery_codes: "Recovery codes",
  }),
  spare: "For a lost app or passkey",
  added: "Added",
  used: "Last used",
  unused: "Never",
  next: "Continue",
  addApp: "Add an app",
  appName: "My phone",
  scan: "Scan this with your authenticator app, and enter the code that it shows. You have ten minutes.",
  qr: "QR code with the secret for the app",
  secret: "Or type this secret into the app:",
  code: "Code",
  confirm: "Confirm the code",
  appAdded: "The app was added.",
  addPasskey: "Add a passkey",
  passkeyName: "My passkey",
  passkeyText: "The browser then asks where to store it: on this device, your phone, or a security key.",
  passkeyAdded: "The passkey was added.",
  newCodes: "New recovery codes",
  newCodesTitle: "Create new recovery codes?",
  newCodesText: "Your current codes stop working.",
  remove: "Remove",
  removeTitle: (/** @type {string} */ name) => `Remove ${name}?`,
  removeText: "It no longer signs you in, and all your other sessions end.",
  removeLast:
    "It is your last second factor. Your recovery codes are removed too, and your password alone signs you in.",
  removed: (/** @type {string} */ name) => `${name} was removed.`,
};

export const CODES = {
  title: "Your recovery codes",
  about:
    "Keep them in a place that you can reach without your phone. Each code replaces the second factor " +
    "once. They are not shown again.",
  print: "Print",
  save: "Save as a file",
  kept: "I have saved them",
  fileName: "recovery-codes.txt",
  file: (/** @type {string} */ user, /** @type {string} */ codes) =>
    `Recovery codes of ${user}, each works once\n\n${codes}\n`,
};
