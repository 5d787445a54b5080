// @ts-check
/** The texts of forms and trees. */
import { texts } from "../core/texts.js";

export const { FORM, LASTING, TREE } = await texts("start/form");
