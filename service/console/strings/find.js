// @ts-check
/** The texts of suggestions and of the palette, in English. Functions take what varies. */
import { count } from "./words.js";

export const COMBOBOX = {
  list: "Suggestions",
  count: (/** @type {number} */ n) => (n ? count(n, "suggestion", "suggestions") : "No match."),
};

export const SUGGESTED = {
  registered: "Registered resources",
  routes: "Routes of this service",
};

export const PALETTE = {
  title: "Go to",
  label: "A page, user, role or resource, or the id of a decision",
  pages: "Pages",
  users: "Users",
  roles: "Roles",
  resources: "Resources",
  requestable: "Ask for access",
  decision: "Decision",
};
