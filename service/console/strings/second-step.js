// @ts-check
/** The texts of the second step of a login. */
import { texts } from "../core/texts.js";

export const { SECOND_STEP } = await texts("start/second-step");
