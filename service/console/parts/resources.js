// @ts-check
/** What the views of resources share: services, and how routes are guarded. */
import { h, link } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { RESOURCES as T } from "../strings/resources.js";

const MOST_OPTIONS = 200;

/** The name of this service among the services. */
export const OWN = "portcullis";

/** Return the object of a resource in the policy. @param {{service: string, method: string, path: string}} resource */
export function objectOf({ service, method, path }) {
  return `${service === OWN ? "" : `${service} `}${method} ${path}`;
}

/** @typedef {import("../types/api").RouteGuard} RouteGuard */

/**
 * Return the services as options of a select; null if the caller may not list them, or if there are too many.
 * @param {Page} page
 * @returns {Promise<[string, string][] | null>}
 */
export async function serviceOptions(page) {
  if (!page.may("GET /api/service/list")) return null;
  const { data } = await page.call("GET", "/api/service/list", {
    query: { size: MOST_OPTIONS, sort: "name" },
  });
  if (data.total > MOST_OPTIONS) return null;
  return [
    [OWN, T.own],
    ...data.items
      .map((/** @type {{name: string}} */ { name }) => /** @type {[string, string]} */ ([name, name]))
      .filter((/** @type {[string, string]} */ [name]) => name !== OWN),
  ];
}

/**
 * Return what the resource layer does for a route, by a key of `bindings` in the strings.
 * @param {RouteGuard} route
 */
export function bindingOf({ resource, resourceCodes }) {
  if (resource === null || resource === "@no-session") return "none";
  if (resource === "@unregistered") return "unregistered";
  if (resourceCodes.some((code) => !code.startsWith("@"))) return "bound";
  return resourceCodes.includes("@nobody") ? "closed" : "registered";
}

/** Return the coverage in numbers, each a way to its routes. @param {import("../types/api").Coverage} coverage */
export function glance({ routes, unroutedTotal }) {
  /**
   * @param {string} title
   * @param {string} name
   * @param {Record<string, string>} words
   * @param {(route: RouteGuard) => string} key
   */
  const group = (title, name, words, key) =>
    h(
      "div",
      null,
      h("h2", null, title),
      h(
        "ul",
        { class: "counts" },
        Object.entries(words).map(([value, text]) => {
          const n = routes.filter((route) => key(route) === value).length;
          return (
            n > 0 &&
            h(
              "li",
              null,
              link(`/resources/coverage?${name}=${value}`, h("strong", null, shownNumber(n)), " ", text),
            )
          );
        }),
      ),
    );
  return h(
    "div",
    { class: "cards" },
    group(T.endpointLayer, "guard", T.guards, (route) => route.guard),
    h(
      "div",
      null,
      group(T.resourceLayer, "binding", T.bindings, bindingOf),
      unroutedTotal > 0 &&
        h(
          "ul",
          { class: "counts" },
          h(
            "li",
            null,
            link("/resources/coverage?show=lost", h("strong", null, shownNumber(unroutedTotal)), " ", T.lost),
          ),
        ),
    ),
  );
}

/**
 * Return a name and a code for a resource that has none yet.
 * @param {string} service @param {string} method @param {string} path
 */
export function suggested(service, method, path) {
  const words = [
    ...(service === OWN ? [] : [service]),
    method.toLowerCase(),
    ...(path.match(/[A-Za-z0-9_-]+/g) ?? []),
  ];
  return { resourceName: `${method} ${path}`.slice(0, 128), resourceCode: words.join(".").slice(0, 64) };
}
