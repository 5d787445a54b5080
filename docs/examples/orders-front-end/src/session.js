// The session, and what of it the pages watch.
import { reactive } from "vue";
import { Session, isInitial } from "portcullis-admin-browser";

const base = import.meta.env.VITE_PORTCULLIS_URL;

export const state = reactive({
  user: null, // who has signed in
  menus: [], // the tree of Menus that their roles give
  proof: null, // what a step-up is asked for: { methods, settle }
  signIn: null, // settles the request that waits for a login
});

let proving = null; // requests that are refused together share one question

export const session = new Session({
  base,
  device: "orders",
  hooks: {
    // The dialogs in App.vue settle these; the request that was refused is then sent again.
    signIn: (_, elsewhere) =>
      Promise.race([elsewhere, new Promise((resolve) => (state.signIn = resolve))]).finally(() => (state.signIn = null)),
    stepUp: ({ document }) =>
      (proving ??= new Promise((settle) => {
        state.proof = { methods: document.methods ?? [], settle };
      }).finally(() => (proving = null))),
    changed: () => state.user && load(),
    ended: () => {
      state.proof?.settle(false);
      Object.assign(state, { user: null, menus: [], proof: null, signIn: null });
    },
    restarted: () => location.reload(),
  },
});

/** Read who has signed in, and what they may see. */
export async function load() {
  await session.identify();
  const { data } = await session.call("GET", "/api/menu/mine");
  Object.assign(state, { user: session.me, menus: data.menus });
}

/** True if the user holds a code. It shows or hides a button; the service decides about the request. */
export const may = (code) => state.user !== null && session.may(code);

// Sentences of our own by code, and those of the service for all others.
const MESSAGES = {
  login_failed: "The user name or the password is wrong.",
  rate_limited: "Too many attempts. Wait a few minutes.",
  unreachable: "The service can't be reached.",
  insufficient_user_authentication: "This needs a proof that it is you.",
};
export const meaning = (problem) =>
  isInitial(problem) ? `Somebody else has set this password. Change it at ${base}/console, and sign in again.` :
  [MESSAGES[problem.code] ?? problem.message, ...(problem.violations ?? []).map((one) => one.message)].join(" ");
