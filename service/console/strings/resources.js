// @ts-check
/** The texts of resources. */
import { saying, texts } from "../core/texts.js";

const T = await texts("resources");

export const RESOURCES = saying(T.RESOURCES, {
  gainsLoses: (/** @type {number} */ gains, /** @type {number} */ loses) =>
    T.RESOURCES.gainsLoses({ gains, loses, both: gains > 0 && loses > 0 }),
});
