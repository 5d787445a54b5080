// @ts-check
/** The texts of the sign-in page, in English. Functions take what varies. */

export const SIGN_IN = {
  title: "Sign in",
  again: "Sign in again",
  againText: "Your session has ended. Sign in to continue. Your input on the page is kept.",
  userName: "User name",
  password: "Password",
  submit: "Sign in",
  passkey: "Sign in with a passkey",
  forgotten: "Forgot your password?",
  ends:
    "Your session ends when you reload the page or close its last tab. In cookie mode, which an " +
    "administrator can turn on, the session is kept.",
  about: "Administration of users, roles, resources and the access policy.",
};

export const INITIAL = {
  title: "Choose your own password",
  about:
    "Your password was set by another person, or is on a list of leaked passwords. Change it to continue.",
};
