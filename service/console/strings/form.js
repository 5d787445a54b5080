// @ts-check
/** The texts of forms and trees. */
import { saying, texts } from "../core/texts.js";

const T = await texts("start/form");

export const FORM = saying(T.FORM);

/** A length of time; its units by their seconds. */
export const LASTING = saying(T.LASTING);

export const TREE = saying(T.TREE);
