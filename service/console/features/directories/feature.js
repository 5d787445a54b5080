// @ts-check
/** Directories and what they may hand out: their views. */
import { view } from "../../navigation.js";
import { ENTRIES } from "../../strings/frame.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  view("/directories", () => import("./list.js"), "GET /api/directory/list", {
    after: "/menus",
    text: ENTRIES.directories,
    icon: "server",
  }),
  view("/directories/new", () => import("./form.js"), "PUT /api/directory/{source}"),
  view("/directories/{source}", () => import("./directory.js"), "GET /api/directory/{source}"),
  view("/directories/{source}/edit", () => import("./form.js"), "PUT /api/directory/{source}"),
  view("/directories/{source}/history", () => import("./directory.js"), "GET /api/operation-log/list"),
];
