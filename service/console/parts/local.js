// @ts-check
/** Lists whose records are all here: filtered and paged as the server would, for `listing`. */

/**
 * Return what loads a page of `records`.
 * @template R
 * @param {R[]} records
 * @param {(query: Record<string, any>) => (record: R) => boolean} filter Makes of the filters of the
 *   address what a record must fulfil.
 */
export function local(records, filter) {
  return async (/** @type {Record<string, any>} */ query) => {
    const size = Math.min(Math.max(Number(query.size) || 20, 1), 200);
    const page = Math.max(Number(query.page) || 1, 1);
    const matching = records.filter(filter(query));
    return { items: matching.slice((page - 1) * size, page * size), total: matching.length, page, size };
  };
}

/** Return a list whose records are all on one page. @template R @param {readonly R[]} items */
export function whole(items) {
  return { items: [...items], total: items.length, size: Math.max(items.length, 1) };
}
