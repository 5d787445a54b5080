// @ts-check
/** The texts about how strongly somebody has to authenticate, in English. Functions take what varies. */

const STRENGTHS = /** @type {Record<string, string>} */ ({
  anyone: "nothing",
  initial: "a sign-in, also with an initial password",
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
  title: "Confirm that it is you",
  needs: (/** @type {readonly string[]} */ words) => `This needs ${demandsText(words)}.`,
  code: "Code of your app",
  codeHelp: "Six digits. Each code counts once.",
  recoveryCode: "Recovery code",
  password: "Password",
  wrong: "Not accepted: it is wrong, was used already, or came too late.",
  submit: "Confirm",
  passkey: "Use the passkey",
  passkeyText: "Your browser asks for the passkey.",
  passkeyOnly: " Is it not at hand? Sign out, and sign in by another factor.",
  others: /** @type {Record<string, string>} */ ({
    password: "Use the password",
    totp: "Use a code of the app",
    recovery_code: "Use a recovery code",
    passkey: "Use a passkey",
  }),
};
