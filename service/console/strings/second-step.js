// @ts-check
/** The texts of the second step of a login, in English. Functions take what varies. */

export const SECOND_STEP = {
  title: "Prove that it is you",
  about: /** @type {Record<string, string>} */ ({
    totp: "Enter the code that your authenticator app shows now.",
    recovery_code: "Enter one of the codes that you have printed or saved. Each of them works once.",
    passkey: "Use the passkey of this device, of your phone, or of your security key.",
  }),
  code: /** @type {Record<string, string>} */ ({ totp: "Code", recovery_code: "Recovery code" }),
  instead: /** @type {Record<string, string>} */ ({
    totp: "Use a code of the app",
    recovery_code: "Use a recovery code",
    passkey: "Use a passkey",
  }),
  submit: "Sign in",
  usePasskey: "Use the passkey",
  wrong: "Not accepted: it is wrong, was used already, or came too late. After five of them, start again.",
  back: "Start again",
};
