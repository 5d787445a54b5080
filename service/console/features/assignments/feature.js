// @ts-check
/** Assignments of roles one by one: the list of all of them. */
import { view } from "../../navigation.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [view("/assignments", () => import("./list.js"), "GET /api/assignment/list")];
