// @ts-check
/** How somebody comes to a request, or why they do not: the reader chooses the request, and sees the path. */
import { button, card, h, link } from "../core/dom.js";
import { accessPath } from "../pictures/access.js";
import { POLICY as T } from "../strings/policy.js";
import { dialog } from "./dialog.js";
import { form } from "./form.js";
import { codesIn, explaining, requestFields } from "./policy.js";
import { attempt } from "./preview.js";
import { OWN, serviceOptions } from "./resources.js";

/** @typedef {{service?: string, method: string, path: string}} Request */

/**
 * Return the choice of a request whose path is then shown; null if the caller may not ask for it.
 * @param {Page} page
 * @param {Record<string, string>} asker Who asks, as an explanation names them.
 */
export async function pathTo(page, asker) {
  if (!page.may("POST /api/policy/explain")) return null;
  const services = await serviceOptions(page);
  const choice = form({
    fields: requestFields(
      page,
      () => null,
      services,
      () => choice.values(),
    ),
    submit: T.showPath,
    quiet: true,
    save: async ({ method, path, service }) => {
      const given = service && service !== OWN ? { service: String(service) } : {};
      await show(page, asker, { ...given, method: String(method), path: String(path) });
    },
  });
  choice.classList.add("question");
  return card(T.pathTo, choice);
}

/**
 * Return what shows the path to one request; null if the caller may not ask for it.
 * @param {Page} page @param {Record<string, string>} asker @param {Request} request
 */
export function pathButton(page, asker, request) {
  if (!page.may("POST /api/policy/explain")) return null;
  const act = () => attempt(T.pathOf({ name: nameOf(request) }), () => show(page, asker, request));
  return button(T.seePath, act, { "aria-label": T.pathOf({ name: nameOf(request) }) });
}

/**
 * Show the path to a request over the page.
 * @param {Page} page @param {Record<string, string>} asker @param {Request} request
 */
async function show(page, asker, request) {
  /** @type {any} */ const body = { ...asker, ...request };
  if (asker.permissions) body.permissions = codesIn(asker.permissions);
  const { data } = await page.call("POST", "/api/policy/explain", { body });
  const { userName: user, roleCode: role } = asker;
  dialog(
    T.pathOf({ name: nameOf(request) }),
    accessPath(data, { user, role }, nameOf(request)),
    h("p", null, link(explaining({ ...asker, ...request }), T.whole)),
  ).element.classList.add("wide");
}

/** @param {Request} request */
function nameOf({ service, method, path }) {
  return [service, method, path].filter(Boolean).join(" ");
}
