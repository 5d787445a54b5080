// @ts-check
/** The texts of sign-offs of revisions. */
import { saying, texts } from "../core/texts.js";

const T = await texts("sign-offs");

export const SIGN_OFFS = saying(T.SIGN_OFFS);
