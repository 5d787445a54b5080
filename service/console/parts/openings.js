// @ts-check
/** Public access to another service, which needs no Button: listed, given and taken back. */
import { Problem, newKey } from "../client/portcullis.js";
import { badge, button, empty } from "../core/dom.js";
import { RESOURCES } from "../strings/resources.js";
import { SERVICES as T } from "../strings/services.js";
import { ask, tell } from "./dialog.js";
import { agreed, saving, undoing } from "./preview.js";
import { asked, requestsOf } from "./suggestions.js";
import { listing } from "./table.js";
import { coming, time } from "./time.js";

const ALL = "/api/opening";
const ONE = "/api/opening/{id}";

/** @typedef {import("../types/api").ServiceOpening} Opening */

/**
 * Return the rules of public access to a service, with what the caller may do about them.
 * @param {Page} page
 * @param {string} service
 */
export function openings(page, service) {
  const list = listing(page, {
    caption: T.openings,
    filters: [{ name: "code", label: T.whom, type: "select", options: Object.entries(T.words) }],
    columns: [
      {
        title: T.what,
        cell: (opening) => {
          const text = nameOf(opening);
          return page.linked("resource", opening.resourceId, text);
        },
      },
      {
        title: T.whom,
        sort: "code",
        cell: (opening) => badge(T.words[opening.code], opening.code === "@anyone" ? "warn" : "info"),
      },
      { title: T.until, sort: "until", cell: (opening) => coming(opening.until) ?? T.endless },
      { title: T.created, cell: (opening) => time(opening.createTime) },
    ],
    buttons: (opening) =>
      page.may("DELETE /api/opening/{id}") &&
      button(T.close, () => close(page, opening), { "aria-label": T.closeOne({ name: nameOf(opening) }) }),
    actions: [page.may("POST /api/opening") && button(T.open, () => open(page, service), { icon: "plus" })],
    empty: empty(T.noOpenings),
    load: async (query) =>
      (await page.call("GET", "/api/opening/list", { query: { ...query, service } })).data,
  });
  return list;
}

/** Return what is open: a request, or unregistered requests. @param {Opening} opening */
function nameOf({ resourceId, object, service }) {
  return resourceId === null ? T.unregistered : object.slice(service.length + 1);
}

/** @param {Page} page @param {string} service */
async function open(page, service) {
  /** @type {any} */ let done;
  await ask({
    title: T.openTitle({ name: service }),
    text: T.openText,
    confirm: RESOURCES.preview,
    extra: [
      {
        name: "resourceId",
        label: T.request,
        help: T.requestHelp(),
        code: true,
        wrap: requestsOf(page, service),
      },
      {
        name: "code",
        label: T.whom,
        type: "select",
        required: true,
        value: "@login",
        options: Object.entries(T.words),
      },
      { name: "until", label: T.until, type: "datetime", help: T.untilHelp },
    ],
    act: async ({ resourceId: request, code, until }, { box }) => {
      const body = {
        service,
        code,
        until,
        resourceId: request && (await resourceOf(page, service, request)),
      };
      const key = newKey();
      done = await agreed({
        box,
        title: T.openConfirmTitle({ name: request ?? T.unregistered }),
        confirm: T.open,
        danger: code === "@anyone",
        text: code === "@anyone" ? T.anyoneText : T.loginText,
        write: (dryRun) => page.call("POST", ALL, { body, dryRun, key }),
      });
    },
  });
  if (!done) return;
  tell(T.opened({ name: nameOf(done.data) }), {
    undo: undoing(page, ["DELETE", ONE, { path: { id: done.data.id } }]),
  });
  await page.reload();
}

/**
 * Return the id of the resource of a request; throws a `Problem` for its field if there is none.
 * @param {Page} page @param {string} service @param {string} request
 */
async function resourceOf(page, service, request) {
  const { method, path } = asked(request);
  for (let number = 1, left = true; left; number += 1) {
    const { data } = await page.call("GET", "/api/resource/list", {
      query: { service, method, path, page: number, size: 200, sort: "path" },
    });
    const matches = data.items.filter((resource) => resource.path === path);
    if (matches.length === 1) return matches[0].id;
    left = matches.length === 0 && number * 200 < data.total;
  }
  throw new Problem(422, {
    code: "validation_failed",
    errors: [{ field: "resourceId", message: T.noResource({ name: service }) }],
  });
}

/** @param {Page} page @param {Opening} opening */
function close(page, opening) {
  const { id, service, resourceId, code, until } = opening;
  const name = nameOf(opening);
  return saving(page, {
    title: T.closeTitle({ name }),
    text: T.closeText,
    confirm: T.closeConfirm,
    danger: true,
    write: (dryRun) => page.call("DELETE", ONE, { path: { id }, dryRun }),
    done: T.closed({ name }),
    undo: () => undoing(page, ["POST", ALL, { body: { service, resourceId, code, until } }]),
  });
}
