// @ts-check
/** Erases the personal data of a user, once the reader has seen what that deletes and replaces, and what stays. */
import { bullets, button, h } from "../../core/dom.js";
import { ask, dialog, meanwhile, secondStep } from "../../parts/dialog.js";
import { attempt } from "../../parts/preview.js";
import { time } from "../../parts/time.js";
import { ACTION, PREVIEW } from "../../strings/common.js";
import { ORIGINS } from "../../strings/providers.js";
import { ERASURE as T } from "./strings.js";

const ERASE = "/api/user/{id}/erasure";

/** @typedef {import("../../types/api").ErasurePlan} Plan */
/** @typedef {import("../../types/api").Erased} Erased */
/** @typedef {import("../../types/api").User} User */
/** @typedef {import("../../core/dom.js").Child} Child */

/** Return the act, for the page of another person. @type {import("../../types/view").ShowPart} */
export async function part(page, /** @type {User} */ user) {
  if (user.id === page.me.id || user.kind !== "person") return null;
  const managed =
    user.directory === null ? {} : { disabled: true, title: ORIGINS.managed({ name: user.directory }) };
  return button(T.act, () => erase(page, user), { kind: "danger", icon: "trash", ...managed });
}

/** @param {Page} page @param {User} user */
function erase(page, { id, userName: name }) {
  const path = { id };
  const title = T.title({ name });
  return attempt(title, async () => {
    const { data: plan, etag } = await meanwhile(PREVIEW.asking, page.call("GET", ERASE, { path }));
    const sent = /** @type {{erasure: Promise<{data: Erased}> | null}} */ ({ erasure: null });
    await ask({
      title,
      text: described(plan),
      confirm: T.next,
      wide: true,
      act: async (_, { box }) => {
        const confirmed = await secondStep(box, {
          title: T.confirmTitle({ name }),
          text: h("p", { class: "note bad" }, T.confirmText({ id: plan.userId })),
          confirm: T.confirm,
          danger: true,
          fields: [
            {
              name: "reason",
              label: T.reason,
              help: T.reasonHelp,
              type: "textarea",
              required: true,
              most: 500,
            },
          ],
          act: async ({ reason }) => {
            await (sent.erasure = page.call("POST", ERASE, { path, body: { reason }, ifMatch: etag }));
          },
        });
        if (!confirmed) throw new DOMException("", "AbortError");
      },
    });
    // An erasure goes on if the dialog closes before the service answers.
    const done = await sent.erasure?.catch(() => null);
    if (!done) return;
    await report(plan, name, done.data);
    page.go("/users");
  });
}

/** Say what happens next, until the reader closes it. @param {Plan} plan @param {string} name @param {Erased} done */
function report({ archives }, name, { userId: id, changed }) {
  const box = dialog(
    T.doneTitle({ name }),
    h("p", null, T.changed({ n: changed })),
    h("p", null, T.job),
    archives.length > 0 && h("p", { class: "note warn" }, T.archivesLeft({ n: archives.length })),
    h("p", null, T.keepNumber({ id })),
    h(
      "div",
      { class: "buttons" },
      button(ACTION.close, () => box.close(), { kind: "primary", autofocus: true }),
    ),
  );
  return box.closed;
}

/** Return what an erasure deletes, what it replaces, and what stays. @param {Plan} plan */
function described({ userId: id, searched, shared, tables, logs, archives, erasure }) {
  const rows = (/** @type {"deleted" | "redacted" | "kept"} */ kind) =>
    tables
      .filter((each) => each[kind] > 0)
      .map(({ table, [kind]: n }) => [h("code", null, table), ` ${T.rows({ n })}`]);
  const entries = logs.filter(({ erased }) => erased > 0);
  return h(
    "div",
    { class: "requests impact", tabindex: "0", role: "region", "aria-label": T.preview },
    h("p", null, T.text({ id })),
    erasure && h("p", { class: "note" }, T.before, " ", time(erasure.beginTime)),
    section(T.deleted, "bad", rows("deleted")),
    section(T.redacted({ id }), "", [
      ...rows("redacted"),
      ...entries.map(({ log, erased }) => T.erased({ log: T.logs[log], n: erased })),
    ]),
    section(T.searched, "", searched.map(code)),
    section(T.shared, "", shared.map(code)),
    section(T.stays, "", [
      ...rows("kept").map((row) => [...row, T.sealed]),
      ...logs.flatMap(({ log, older, olderUntil, plain }) => [
        older > 0 && [
          T.older({ log: T.logs[log], n: older }),
          " ",
          olderUntil ? [T.until, " ", time(olderUntil)] : T.forever,
        ],
        plain > 0 && T.plain({ log: T.logs[log], n: plain }),
      ]),
      T.elsewhere,
    ]),
    section(
      T.archives,
      "",
      archives.map(({ kind, name, time: when }) => [T.kinds[kind], " ", code(name), " ", time(when)]),
    ),
  );
}

/** @param {string} text */
function code(text) {
  return h("code", null, text);
}

/**
 * Return a list with its heading; null without items.
 * @param {string} title @param {string} kind @param {Child[]} items
 */
function section(title, kind, items) {
  const shown = items.filter(Boolean);
  if (shown.length === 0) return null;
  return h(
    "section",
    { class: `side ${kind}` },
    h("h3", null, title),
    bullets(shown, (item) => item),
  );
}
