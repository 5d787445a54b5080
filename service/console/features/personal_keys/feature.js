// @ts-check
/** The API keys of the own account: their view. */
import { PERSONAL_KEYS as T } from "./strings.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  {
    pattern: "/account/keys",
    load: () => import("./list.js"),
    operation: "GET /api/user/profile/keys",
    entry: { after: "/account/devices", text: T.title, icon: "key" },
  },
];
