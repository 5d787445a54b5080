// @ts-check
/** The texts of the second step of a login, in English. Functions take what varies. */

export const SECOND_STEP = {
  title: "Confirm your identity",
  about: /** @type {Record<string, string>} */ ({
    totp: "Enter the code that your authenticator app shows.",
    recovery_code: "Enter one of your saved recovery codes. Each code works once.",
    passkey: "Use the passkey of this device, your phone, or your security key.",
  }),
  code: /** @type {Record<string, string>} */ ({ totp: "Code", recovery_code: "Recovery code" }),
  instead: /** @type {Record<string, string>} */ ({
    totp: "Use an authenticator code",
    recovery_code: "Use a recovery code",
    passkey: "Use a passkey",
  }),
  submit: "Sign in",
  usePasskey: "Use the passkey",
  wrong:
    "Not accepted: the code is wrong, already used, or expired. After five failed attempts, start again.",
  back: "Start again",
};
