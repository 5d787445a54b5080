// @ts-check
/** The texts of what stands around every view. */
import { texts } from "../core/texts.js";

export const { FRAME, GROUPS, ENTRIES, SHORTCUTS } = await texts("frame");
