// @ts-check
/** Asks for another password, where the session's was set by somebody else or is known from a leak. */
import { button, h } from "../core/dom.js";
import { session } from "../core/session.js";
import { alone } from "../parts/alone.js";
import { password } from "../parts/password.js";
import { trouble } from "../parts/trouble.js";
import { ACCOUNT } from "../strings/account.js";
import { FRAME } from "../strings/frame.js";
import { INITIAL } from "../strings/sign-in.js";

/** Show the page; returns once the password has been changed. */
export async function page() {
  const { data } = await session.call("GET", "/api/user/info");
  const notes = h("div");
  await new Promise((resolve) => {
    alone(
      INITIAL.title,
      INITIAL.about,
      password(data.userName, async (body) => {
        await session.call("PUT", "/api/user/profile/password", { body });
        await session.refresh();
        resolve(undefined);
      }),
      notes,
      button(
        FRAME.signOut,
        () => session.signOut().catch((problem) => notes.replaceChildren(trouble(problem))),
        { kind: "quiet" },
      ),
    );
  });
  const { tell } = await import("../parts/dialog.js");
  tell(ACCOUNT.changed);
}
