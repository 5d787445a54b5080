// @ts-check
/** Directories and what they may hand out: their views. */
import { ENTRIES } from "../../strings/frame.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  {
    pattern: "/directories",
    load: () => import("./list.js"),
    operation: "GET /api/directory/list",
    entry: { after: "/menus", text: ENTRIES.directories, icon: "server" },
  },
  { pattern: "/directories/new", load: () => import("./form.js"), operation: "PUT /api/directory/{source}" },
  {
    pattern: "/directories/{source}",
    load: () => import("./directory.js"),
    operation: "GET /api/directory/{source}",
  },
  {
    pattern: "/directories/{source}/edit",
    load: () => import("./form.js"),
    operation: "PUT /api/directory/{source}",
  },
  {
    pattern: "/directories/{source}/history",
    load: () => import("./directory.js"),
    operation: "GET /api/operation-log/list",
  },
];
