// @ts-check
/** The API keys of the own account: their view. */
import { view } from "../../navigation.js";
import { PERSONAL_KEYS as T } from "./strings.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  view("/account/keys", () => import("./list.js"), "GET /api/user/profile/keys", {
    after: "/account/devices",
    text: T.title,
    icon: "key",
  }),
];
