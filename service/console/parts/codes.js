// @ts-check
/** Permission codes: what a wildcard covers, by the rules of `service/kernel/codes.py`. */

/**
 * True if a caller who holds `held` passes where `code` is required.
 * @param {string} held `a:b`, `*`, `a:*` (all below `a`) or `a:*:c` (one segment for each `*` before the last).
 * @param {string} code
 */
export function covers(held, code) {
  if (held === code) return true;
  const [have, required] = [held.split(":"), code.split(":")];
  if (!have.every(Boolean) || !required.every(Boolean)) return false;
  const trailing = have.at(-1) === "*";
  const head = trailing ? have.slice(0, -1) : have;
  if (trailing ? required.length <= head.length : required.length !== head.length) return false;
  return (
    (trailing || head.includes("*")) &&
    head.every((segment, place) => segment === "*" || segment === required[place])
  );
}

/** @param {string | null} code */
export function isWildcard(code) {
  return code !== null && code.split(":").includes("*");
}
