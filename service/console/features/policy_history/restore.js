// @ts-check
/** Restores a past revision of the policy, once the reader has seen what that deletes and changes. */
import { bullets, h } from "../../core/dom.js";
import { tell } from "../../parts/dialog.js";
import { attempt, previewed } from "../../parts/preview.js";
import { table } from "../../parts/rows.js";
import { POLICY as T } from "../../strings/policy.js";
import { enumerated } from "../../strings/common.js";

const RESTORE = "/api/policy/revisions/{revision}/restore";

/** @typedef {import("../../types/api").MadeEdit} Edit */

/** @param {Page} page @param {number} revision */
export function restore(page, revision) {
  const title = T.restoreTitle({ n: revision });
  const path = /** @type {{revision: any}} */ ({ revision });
  return attempt(title, async () => {
    /** @type {string | null} */ let seen = null;
    const done = await previewed({
      title,
      confirm: T.restoreConfirm,
      danger: true,
      text: T.restoreText({ n: revision }),
      more: ({ edits }) => described(edits ?? []),
      write: async (dryRun) => {
        const answer = await page.call("POST", RESTORE, { path, dryRun, ifMatch: dryRun ? null : seen });
        if (dryRun) seen = `"${answer.headers.get("X-Policy-Revision")}"`;
        return answer;
      },
    });
    if (!done) return;
    const now = done.data.policyRevision;
    tell(T.restored({ n: revision, now }));
    page.go(`/policy/revisions/${now}`);
  });
}

/** Return what a restore does: first what it deletes, by kind and name. @param {Edit[]} edits */
function described(edits) {
  if (edits.length === 0) return h("p", null, T.editNothing);
  const kindOf = (/** @type {Edit} */ { request }) =>
    T.recordKinds[/^DELETE \/api\/(\w+)\/\{?\w+\}?$/.exec(request)?.[1] ?? ""];
  const [deleted, others] = [edits.filter(kindOf), edits.filter((edit) => !kindOf(edit))];
  return [
    deleted.length > 0 &&
      h(
        "section",
        { class: "note bad" },
        h("h3", null, T.deletes),
        bullets(deleted, (edit) => [kindOf(edit), " ", h("code", null, edit.name)]),
      ),
    others.length > 0 && table(T.edits, [T.editName, T.editChanges], others.map(row)),
  ];
}

/** @param {Edit} edit */
function row({ name, request, changes }) {
  return [
    h("div", null, h("code", null, name), h("small", null, ` ${request}`)),
    bullets(
      changes,
      ({ field, before, after }) => [
        h("strong", null, field),
        " ",
        h("del", null, text(before)),
        " → ",
        h("ins", null, text(after)),
      ],
      { class: "changes" },
    ),
  ];
}

/** @param {any} value */
function text(value) {
  if (Array.isArray(value)) return enumerated(value) || T.empty;
  return value === null || value === "" ? T.empty : String(value);
}
