// @ts-check
/** The texts of the sign-in page, in English. Functions take what varies. */

export const SIGN_IN = {
  title: "Sign in",
  again: "Sign in again",
  againText: "Your session has ended. Sign in to go on where you were: nothing on the page is lost.",
  userName: "User name",
  password: "Password",
  submit: "Sign in",
  passkey: "Sign in with a passkey",
  forgotten: "Forgot your password?",
  ends:
    "Your session ends when you reload or close the last tab of this page. " +
    "An administrator can turn on cookie mode, which keeps it.",
  about: "Administration of users, roles, resources and the policy that decides who may do what.",
};

export const INITIAL = {
  title: "Choose your own password",
  about:
    "Somebody else has set your password, or it is on a list of leaked ones. " +
    "Change it: until then nothing else is open to you.",
};
