// @ts-check
/** What a write would do, told by its dry run before it is saved; and how it is taken back. */
import { Problem } from "../client/portcullis.js";
import { bullets, h } from "../core/dom.js";
import { PREVIEW, TROUBLE } from "../strings/common.js";
import { demandsText } from "../strings/step-up.js";
import { ask, dialog, meanwhile, secondStep, tell } from "./dialog.js";
import { groupOf, objectText } from "./request-line.js";
import { trouble } from "./trouble.js";

/** The most requests of a role that are shown. */
const MOST = 200;

/** @typedef {import("../types/api").AccessChange} AccessChange */
/** @typedef {(values: {name: string}) => string} Named */
/** @typedef {(values: {n: number}) => string} Counted */
/** @typedef {Pick<import("../client/types.js").Options, "ifMatch" | "dryRun" | "signal">} Conditions */

/**
 * Ask the API what a write would do, show it, and make the write if the reader agrees. What the dry run refuses is
 * thrown before anything is asked, and so is 412; what else the write itself refuses is shown in the dialog.
 * @param {object} change
 * @param {string} change.title
 * @param {string} change.confirm What the button that saves says.
 * @param {import("../core/dom.js").Child} [change.text] What to say before what is gained and lost.
 * @param {(data: any) => import("../core/dom.js").Child} [change.more]
 *   What else to show of the dry run: `data` is what the write would answer.
 * @param {boolean} [change.danger]
 * @param {Counted} [change.sessions] What becomes of sessions; by default they have to refresh.
 * @param {(dryRun: boolean) => Promise<any>} change.write Sends the request, or its dry run.
 * @param {import("./dialog.js").Box} [change.box] The dialog whose second step this is.
 * @returns {Promise<any>} The answer of the write; false if the reader did not agree.
 */
export async function previewed({ title, confirm, text, more, danger, sessions, write, box }) {
  const { data, preview } = await meanwhile(PREVIEW.asking, write(true));
  /** @type {any} */ let answer = false;
  /** @type {unknown} */ let changed = null;
  const act = async () => {
    try {
      answer = await write(false);
    } catch (problem) {
      if (!(problem instanceof Problem && problem.status === 412)) throw problem;
      changed = problem;
    }
  };
  const question = {
    title,
    text: h("div", null, text && h("p", null, text), more?.(data), impact(preview, sessions)),
    confirm,
    danger,
    wide: preview.gains.length + preview.loses.length > 0,
    act,
  };
  await (box ? secondStep(box, question) : ask(question));
  if (changed) throw changed;
  return answer;
}

/**
 * Do the same for a form: throws `AbortError`, which leaves it as it is, if the reader did not agree.
 * @param {Parameters<typeof previewed>[0]} change
 * @returns {Promise<any>} The answer of the write.
 */
export async function agreed(change) {
  const answer = await previewed(change);
  if (answer === false) throw new DOMException("", "AbortError");
  return answer;
}

/**
 * Make a write after its preview, say that it is done, and show the view anew, or another one.
 * @param {{reload: () => Promise<unknown>, go?: (path: string) => void}} page
 * @param {Parameters<typeof previewed>[0] & {
 *   done: string,
 *   undo?: (answer: any) => (() => Promise<any>) | undefined,
 *   next?: string,
 * }} change `done` is what to say, `undo` returns what takes the write back, and `next` is the path of another view.
 */
export function saving(page, { done, undo, next, ...change }) {
  return attempt(change.title, async () => {
    const answer = await previewed(change);
    if (!answer) return;
    tell(done, { undo: undo?.(answer) });
    await (next ? page.go?.(next) : page.reload());
  });
}

/**
 * Delete a record, after its preview, and go to another view.
 * @param {Page} page
 * @param {object} change
 * @param {string} change.name
 * @param {{
 *   deleteTitle: Named,
 *   deleteText: string | Named,
 *   deleteConfirm: string,
 *   deleted: Named,
 *   ends?: Counted,
 * }} change.texts `ends`: what becomes of the sessions that it ends.
 * @param {(dryRun: boolean) => Promise<any>} change.write
 * @param {string} change.next The path of the view to go to.
 */
export function remove(page, { name, texts, write, next }) {
  return saving(page, {
    title: texts.deleteTitle({ name }),
    text: typeof texts.deleteText === "string" ? texts.deleteText : texts.deleteText({ name }),
    confirm: texts.deleteConfirm,
    danger: true,
    sessions: texts.ends,
    write,
    done: texts.deleted({ name }),
    next,
  });
}

/**
 * Enable or disable a record, after the preview.
 * @param {Page} page
 * @param {object} change
 * @param {boolean} change.on
 * @param {string} change.name
 * @param {Record<"enable" | "disable" | "enableText" | "disableText", string>
 *   & Record<"enableTitle" | "disableTitle" | "enabled" | "disabled", Named> & {ends?: Counted}} change.texts
 * @param {string | null} change.etag
 * @param {(on: boolean, options: Conditions) => Promise<any>} change.write
 */
export function setEnabled(page, { on, name, texts, etag, write }) {
  return saving(page, {
    title: on ? texts.enableTitle({ name }) : texts.disableTitle({ name }),
    text: on ? texts.enableText : texts.disableText,
    confirm: on ? texts.enable : texts.disable,
    danger: !on,
    sessions: on ? undefined : texts.ends,
    write: (dryRun) => write(on, { ifMatch: etag, dryRun }),
    done: on ? texts.enabled({ name }) : texts.disabled({ name }),
    undo: (answer) => async () => {
      await write(!on, { ifMatch: answer.etag, signal: undefined });
      await page.reloadIfShown();
    },
  });
}

/**
 * Return what a dry run has answered, for people.
 * @param {import("../types/api").Preview} preview @param {Counted} [counted] What becomes of sessions.
 */
function impact({ gains, loses, keptOut, sessions, warnings, demands }, counted = PREVIEW.sessions) {
  return h(
    "div",
    { class: "impact" },
    warnings.map((warning) => h("p", { class: "note warn" }, warning)),
    !gains.length && !loses.length && h("p", null, PREVIEW.nothing),
    demands.map(({ object, before, after }) =>
      h(
        "p",
        { class: "demand" },
        h("code", null, object),
        `: ${PREVIEW.demands(demandsText(before), demandsText(after))}`,
      ),
    ),
    side(PREVIEW.gains, gains, "good"),
    side(PREVIEW.loses, loses, "bad"),
    keptOut.users > 0 && h("p", { class: "note" }, PREVIEW.keptOut(keptOut.users, keptOut.userNames)),
    h("p", null, counted({ n: sessions })),
  );
}

/**
 * Return what roles gain or lose.
 * @param {string} title
 * @param {AccessChange[]} changes
 * @param {string} kind good or bad.
 */
export function side(title, changes, kind) {
  if (!changes.length) return null;
  const short = changes.length === 1 && changes[0].access.length <= 12;
  return h(
    "section",
    { class: `side ${kind}` },
    h("h3", null, title),
    changes.map((change) =>
      folded(
        short,
        h(
          "summary",
          null,
          change.roleCode === null ? PREVIEW.noRole : h("code", null, change.roleCode),
          " ",
          PREVIEW.counts({ users: change.users, requests: change.total ?? change.access.length }),
        ),
        () => requests(change),
      ),
    ),
  );
}

/**
 * Return what is folded below a summary, and made when it is opened.
 * @param {boolean} open
 * @param {HTMLElement} summary
 * @param {() => Node[]} make
 */
export function folded(open, summary, make) {
  const details = h("details", { open }, summary, open && make());
  if (!open) details.addEventListener("toggle", () => details.append(...make()), { once: true });
  return details;
}

/** Return the requests of a role, as far as a reader will read them. @param {AccessChange} change */
function requests({ access, total = access.length }) {
  const shown = access.slice(0, MOST);
  const left = total - shown.length;
  return [
    h(
      "div",
      { class: "requests", tabindex: "0", role: "region", "aria-label": PREVIEW.opened },
      [...Map.groupBy(shown, groupOf)].map(([group, requests]) => [
        h("h4", null, group),
        bullets(requests, (request) => objectText(request), { class: "plain" }),
      ]),
    ),
    ...(left > 0 ? [h("p", { class: "help" }, PREVIEW.more({ n: left }))] : []),
  ];
}

/**
 * Do what a button is for, and show what the service refuses in a dialog.
 * @param {string} title
 * @param {() => Promise<any>} work
 */
export async function attempt(title, work) {
  try {
    return await work();
  } catch (problem) {
    if (!(problem instanceof DOMException && problem.name === "AbortError"))
      dialog(TROUBLE.notDone(title), trouble(problem));
    return undefined;
  }
}

/**
 * Return what takes a change back, for `tell`: it sends requests one after the other, whichever view is shown by then,
 * and shows the view of the change anew if it still is.
 * @param {Page} page The view of the change.
 * @param {...[method: string, template: string, options: import("../client/types.js").Options]} requests
 */
export function undoing(page, ...requests) {
  return async () => {
    for (const [method, template, options] of requests)
      await page.call(method, template, { ...options, signal: undefined });
    await page.reloadIfShown();
  };
}
