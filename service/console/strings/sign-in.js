// @ts-check
/** The texts of the sign-in page. */
import { texts } from "../core/texts.js";

export const { SIGN_IN, INITIAL } = await texts("start/sign-in");
