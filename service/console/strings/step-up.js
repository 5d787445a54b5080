// @ts-check
/** The texts about how strongly somebody has to authenticate, in English. Functions take what varies. */

const STRENGTHS = /** @type {Record<string, string>} */ ({
  anyone: "nothing",
  initial: "a sign-in, an initial password included",
  login: "a sign-in",
  "two-factors": "two factors",
  "phishing-resistant": "a passkey",
  service: "an API key",
});
const AGES = /** @type {Record<string, string>} */ ({
  "15m": " in the last 15 minutes",
  "12h": " in the last 12 hours",
});

/** Return what a word of the layer assurance asks for, such as `@two-factors-within-15m`. @param {string} word */
function demandText(word) {
  const [strength = "", age] = word.replace(/^@/, "").split("-within-");
  return strength in STRENGTHS ? STRENGTHS[strength] + (age ? (AGES[age] ?? "") : "") : word;
}

/** Return what several words ask for, any of which will do. @param {readonly string[]} words */
export const demandsText = (words) => words.map(demandText).join(" or ");

/** The demands that administrators set, with their texts. */
export const DEMANDS = /** @type {[string, string][]} */ (
  ["login", "two-factors", "phishing-resistant"].flatMap((strength) =>
    ["", "-within-12h", "-within-15m"].map((age) => [strength + age, capital(demandText(strength + age))]),
  )
);

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const STEP_UP = {
  title: "Confirm your identity",
  needs: (/** @type {readonly string[]} */ words) => `This requires ${demandsText(words)}.`,
  code: "Authenticator code",
  codeHelp: "Six digits. Each code works once.",
  recoveryCode: "Recovery code",
  password: "Password",
  wrong: "Not accepted: it is wrong, already used, or expired.",
  submit: "Confirm",
  passkey: "Use the passkey",
  passkeyText: "Your browser will ask for the passkey.",
  passkeyOnly: " If you do not have it with you, sign out and sign in with another factor.",
  others: /** @type {Record<string, string>} */ ({
    password: "Use the password",
    totp: "Use an authenticator code",
    recovery_code: "Use a recovery code",
    passkey: "Use a passkey",
  }),
};
