// @ts-check
/** The texts of what stands around every view. */
import { saying, texts } from "../core/texts.js";

const T = await texts("frame");

export const FRAME = saying(T.FRAME);

export const GROUPS = saying(T.GROUPS);

export const ENTRIES = saying(T.ENTRIES);

export const SHORTCUTS = saying(T.SHORTCUTS);
