// @ts-check
/** What a reader has seen or put away, kept by this browser alone. */

/** Tell whether something was remembered. @param {string} name */
export function isRemembered(name) {
  try {
    return localStorage.getItem(`portcullis.${name}`) === "1";
  } catch {
    return false; // a browser that stores nothing remembers nothing
  }
}

/** Remember something from now on. @param {string} name */
export function remember(name) {
  try {
    localStorage.setItem(`portcullis.${name}`, "1");
  } catch {
    // As above.
  }
}
