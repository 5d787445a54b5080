// @ts-check
/** One revision of the policy: what it changed, who gained and lost by it, and its restore. */
import { button, card, definition, h, link, linkButton } from "../../core/dom.js";
import { tell } from "../../parts/dialog.js";
import { FIRST, lines } from "../../parts/lines.js";
import { attempt, previewed } from "../../parts/preview.js";
import { table } from "../../parts/rows.js";
import { notOthers, signOffs, signing } from "../../parts/sign-offs.js";
import { time } from "../../parts/time.js";
import { POLICY as T } from "../../strings/policy.js";
import { delta } from "./revisions.js";

const RESTORE = "/api/policy/revisions/{revision}/restore";

/** @typedef {import("../../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  const path = /** @type {{revision: any}} */ ({ revision: page.params.revision });
  const read = async (/** @type {any} */ query) =>
    await page.call("GET", "/api/policy/revisions/{revision}", { path, query });
  const { data, headers } = await read(FIRST);
  const newest = Number(headers.get("X-Policy-Revision"));
  const isNewest = data.revision >= newest;
  const compares = page.may("GET /api/policy/diff");
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.title(
    T.revisionTitle(data.revision),
    data.revision > 1 &&
      linkButton(`/policy/revisions/${data.revision - 1}`, T.previous, { icon: "left", kind: "quiet" }),
    !isNewest &&
      linkButton(`/policy/revisions/${data.revision + 1}`, T.following, { icon: "right", kind: "quiet" }),
    compares && !isNewest && linkButton(`/policy/compare?from=${data.revision}`, T.compareNow),
    !isNewest &&
      page.may("POST /api/policy/revisions/{revision}/restore") &&
      button(T.restore, () => restore(page, data.revision), { icon: "refresh" }),
    data.samePerson === null && signing(page, data.revision),
  );
  const signed = await signOffs(page, data);
  const logs = page.may("GET /api/operation-log/list");
  page.put(
    data.samePerson !== null && notOthers(page, data.samePerson),
    card(
      "",
      definition([
        [T.time, time(data.createTime)],
        [T.by_, data.userName ?? T.byNobody],
        [T.cause, data.cause],
        [T.delta, delta(data)],
        [
          T.requestId,
          data.requestId &&
            (logs
              ? link(
                  `/logs/operations?requestId=${encodeURIComponent(data.requestId)}`,
                  h("code", null, data.requestId),
                )
              : h("code", null, data.requestId)),
        ],
        ["", data.tampered > 0 && T.tampered(data.tampered)],
      ]),
      compares &&
        data.revision > 1 &&
        h(
          "div",
          { class: "actions" },
          linkButton(
            `/policy/compare?from=${data.revision - 1}&to=${data.revision}&access=true`,
            T.impactTitle,
          ),
        ),
    ),
    signed,
    card(
      T.changesTitle,
      data.distrust
        ? h("p", null, T.distrusted(data.distrust))
        : lines(async (query) => (await read(query)).data, data, T.noChanges),
    ),
  );
}

/**
 * Bring a revision back: its edits and what they would do are shown first.
 * @param {Page} page
 * @param {number} revision
 */
function restore(page, revision) {
  const title = T.restoreTitle(revision);
  const path = /** @type {{revision: any}} */ ({ revision });
  return attempt(title, async () => {
    /** @type {string | null} */ let seen = null;
    const done = await previewed({
      title,
      confirm: T.restoreConfirm,
      danger: true,
      text: T.restoreText(revision),
      more: ({ edits }) =>
        edits?.length
          ? table(
              T.edits,
              [T.editName, T.editChanges],
              edits.map((/** @type {any} */ edit) => [
                [h("code", null, edit.name), h("small", null, ` ${edit.request}`)],
                h(
                  "ul",
                  { class: "changes" },
                  edit.changes.map((/** @type {any} */ each) =>
                    h(
                      "li",
                      null,
                      h("strong", null, each.field),
                      " ",
                      h("del", null, text(each.before)),
                      " → ",
                      h("ins", null, text(each.after)),
                    ),
                  ),
                ),
              ]),
            )
          : h("p", null, T.editNothing),
      write: async (dryRun) => {
        const answer = await page.call("POST", RESTORE, { path, dryRun, ifMatch: dryRun ? null : seen });
        if (dryRun) seen = `"${answer.headers.get("X-Policy-Revision")}"`;
        return answer;
      },
    });
    if (!done) return;
    const now = done.data.policyRevision;
    tell(T.restored(revision, now));
    page.go(`/policy/revisions/${now}`);
  });
}

/** @param {any} value */
function text(value) {
  return Array.isArray(value)
    ? value.join(", ") || T.empty
    : value === null || value === ""
      ? T.empty
      : String(value);
}
