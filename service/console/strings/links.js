// @ts-check
/** The texts of the pages that links in mails lead to, in English. Functions take what varies. */

export const LINKS = {
  toSignIn: "Go to the sign-in page",
  broken: {
    title: "This link is incomplete",
    about:
      "Part of the link is missing or changed. Copy the whole link from the mail into the address bar, " +
      "or request a new mail.",
  },
  invitation: {
    title: "Welcome",
    about: "Choose a password for your new account. This link works once.",
    submit: "Set the password",
    done: "Your password is set. You can sign in now.",
  },
  forgotten: {
    title: "Forgot your password?",
    about: "Enter your user name. If the account has a confirmed email address, we send a link to it.",
    userName: "User name",
    submit: "Send the mail",
    done: "If the account exists and has a confirmed address, a mail was sent to it. Check your mailbox.",
  },
  reset: {
    title: "Choose a new password",
    about: "All sessions of the account end, and the old password stops working.",
    submit: "Set the password",
    done: "Your password is set, and all sessions have ended. Sign in with the new password.",
  },
  address: {
    title: "Confirm your email address",
    about: "The address that received this link becomes the address of your account.",
    submit: "Confirm the address",
    done:
      "Your email address is confirmed. If another person set it, sign in and confirm it in your " +
      "account. Until then it is not used for password resets.",
  },
  undo: {
    title: "Undo the change of your email address",
    about:
      "The address that received this link becomes the address of your account again, and all sessions " +
      "end. Then reset your password with a link, and inform an administrator.",
    submit: "Undo the change",
    done: "Your previous email address is restored, and all sessions have ended. Now reset your password.",
  },
  sessions: {
    title: "End all sessions",
    about:
      "If you do not recognise an activity in your account, end all its sessions. Then sign in and " +
      "change your password, or ask an administrator.",
    submit: "End all sessions",
    done: "All sessions of your account have ended.",
  },
};
