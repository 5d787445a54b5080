// @ts-check
/** The texts of the checks of the installation, in English. Functions take what varies. */

export const DOCTOR = {
  title: "System health",
  attention: "What needs attention",
  asItShould: "Checks without findings",
  fine: "Nothing needs attention.",
  checkedAt: "Checked",
  all: "All checks",
  /** The worst first. */
  states: /** @type {Record<string, string>} */ ({
    fault: "Error",
    warning: "Warning",
    unknown: "Not checked",
    ok: "OK",
  }),
};
