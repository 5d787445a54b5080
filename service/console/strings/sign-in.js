// @ts-check
/** The texts of the sign-in page. */
import { saying, texts } from "../core/texts.js";

const T = await texts("start/sign-in");

export const SIGN_IN = saying(T.SIGN_IN);

export const INITIAL = saying(T.INITIAL);
