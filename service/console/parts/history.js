// @ts-check
/** What was done to a record, as the operation log has it: on an axis of time, and as a list. */
import { card } from "../core/dom.js";
import { recordHistory } from "../pictures/history.js";
import { OPERATIONS } from "../strings/operations.js";
import { HISTORY } from "../strings/pictures.js";
import { operationColumns, withChanges } from "./logs.js";
import { revertButton } from "./revert.js";
import { listing } from "./table.js";

/**
 * Return the changes of a record, and the list of the entries about it without previews.
 *
 * The log knows records by name. An earlier record of the same name, which was deleted, has a past of its own: entries
 * from before this one was created are not about it.
 * @param {Page} page
 * @param {string} target Its name in the log, such as `role:clerk`.
 * @param {{createTime: string}} record
 */
export function history(page, target, { createTime: from }) {
  return [
    card(HISTORY.title, recordHistory(page, target, from)),
    listing(page, {
      caption: OPERATIONS.caption,
      columns: operationColumns(page),
      load: async (query) => {
        const asked = { ...query, target, from, dryRun: "false" };
        return withChanges(page, (await page.call("GET", "/api/operation-log/list", { query: asked })).data);
      },
      buttons: (entry) => revertButton(page, entry),
      row: (entry) => (page.may("GET /api/operation-log/{id}") ? `/logs/operations/${entry.id}` : null),
      empty: OPERATIONS.none,
    }),
  ];
}
