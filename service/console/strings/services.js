// @ts-check
/** The texts of services. */
import { saying, texts } from "../core/texts.js";

const T = await texts("services");

export const SERVICES = saying(T.SERVICES);
