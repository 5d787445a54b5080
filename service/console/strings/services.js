// @ts-check
/** The texts of services. */
import { texts } from "../core/texts.js";

export const { SERVICES } = await texts("services");
