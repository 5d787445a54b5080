// @ts-check
/** What doctor has found, for who operates the installation. */
import { view } from "../../navigation.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [view("/doctor", () => import("./doctor.js"), "GET /api/system/findings")];
