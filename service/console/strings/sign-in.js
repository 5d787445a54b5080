// @ts-check
/** The texts of the sign-in page, in English. Functions take what varies. */

export const SIGN_IN = {
  title: "Sign in",
  again: "Sign in again",
  againText: "Your session has ended. Sign in to go on where you were: nothing on the page is lost.",
  userName: "User name",
  password: "Password",
  submit: "Sign in",
  about: "Administration of users, roles, resources and the policy that decides who may do what.",
};
