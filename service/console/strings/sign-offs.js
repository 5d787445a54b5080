// @ts-check
/** The texts of sign-offs of revisions. */
import { texts } from "../core/texts.js";

export const { SIGN_OFFS } = await texts("sign-offs");
