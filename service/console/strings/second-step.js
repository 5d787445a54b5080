// @ts-check
/** The texts of the second step of a login. */
import { saying, texts } from "../core/texts.js";

const T = await texts("start/second-step");

export const SECOND_STEP = saying(T.SECOND_STEP);
