// @ts-check
/** What a reader has seen, put away or chosen, kept by this browser alone. */

/** Tell whether something was remembered. @param {string} name */
export function isRemembered(name) {
  return kept(name) === 1;
}

/** Remember something from now on. @param {string} name */
export function remember(name) {
  keep(name, 1);
}

/** Return what was kept under a name; null for nothing. @param {string} name @returns {any} */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`portcullis.${name}`) ?? "null");
  } catch {
    return null; // a browser that stores nothing keeps nothing
  }
}

/** Keep a value under a name. @param {string} name @param {any} value */
export function keep(name, value) {
  try {
    localStorage.setItem(`portcullis.${name}`, JSON.stringify(value));
  } catch {
    // As above.
  }
}

/**
 * Delete the saved filters of a user from this browser, since they may hold names of people; columns and density of
 * lists stay.
 * @param {number} id
 */
export function forgetFilters(id) {
  const lists = `list.${id}.`;
  try {
    for (const key of Object.keys(localStorage)) {
      const name = key.replace(/^portcullis\./, "");
      if (name !== key && name.startsWith(lists)) keep(name, { ...kept(name), filters: {} });
    }
  } catch {
    // As above.
  }
}
