// @ts-check
/** The texts of the pages that links in mails lead to, in English. Functions take what varies. */

export const LINKS = {
  toSignIn: "Go to the sign-in page",
  broken: {
    title: "This link is broken",
    about:
      "A part of it was cut off or changed on its way to you. Copy the whole address from the mail into the address " +
      "line, or ask for another mail.",
  },
  invitation: {
    title: "Welcome",
    about: "Choose the password of your new account. The link that brought you here works once.",
    submit: "Set the password",
    done: "Your password is set. You can sign in now.",
  },
  forgotten: {
    title: "Forgot your password?",
    about:
      "Enter your user name. If the account has a confirmed email address, a mail with a link goes there.",
    userName: "User name",
    submit: "Send the mail",
    done: "If there is such an account with a confirmed address, a mail is on its way to it. Look into your mailbox.",
  },
  reset: {
    title: "Choose a new password",
    about: "All sessions of the account end, and the old password works no more.",
    submit: "Set the password",
    done: "Your password is set, and all sessions have ended. Sign in with the new one.",
  },
  address: {
    title: "Confirm your email address",
    about: "Your account will have the address at which you have received the link.",
    submit: "Confirm the address",
    done:
      "Your email address is confirmed. If somebody else has set it, sign in and agree to it in your account: " +
      "until then it is not used for forgotten passwords.",
  },
  undo: {
    title: "Undo the change of your email address",
    about:
      "Your account gets the address back at which you have received the link, and all its sessions end. " +
      "Then choose another password by a link for a forgotten one, and tell an administrator.",
    submit: "Undo the change",
    done: "Your email address is as before, and all sessions have ended. Now choose another password.",
  },
  sessions: {
    title: "End all sessions",
    about:
      "If something happened in your account that you did not do, end all its sessions. " +
      "Then sign in and change your password, or ask an administrator.",
    submit: "End all sessions",
    done: "All sessions of your account have ended.",
  },
};
