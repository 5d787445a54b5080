// @ts-check
/** The texts of the sign-in page. */
import { texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/start/sign-in.json")} */ (await texts("start/sign-in"));

export const SIGN_IN = T.SIGN_IN;

export const INITIAL = T.INITIAL;
