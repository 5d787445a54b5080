// @ts-check
/** The texts of the checks of the installation. */
import { saying, texts } from "../core/texts.js";

const T = await texts("doctor");

export const DOCTOR = saying(T.DOCTOR, {
  /** The name of a check, as the service names it. */
  check: (/** @type {string} */ name) =>
    /** @type {Record<string, string>} */ (T.DOCTOR.checks)[name] ?? name.replaceAll("-", " "),
  /** The worst first. */
});
