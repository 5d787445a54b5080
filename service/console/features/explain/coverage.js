// @ts-check
/** All routes with what guards them, and the registration of those that have no resource. */
import { badge, badges, button, card, h, icon, link, linkButton } from "../../core/dom.js";
import { local } from "../../parts/local.js";
import { requestLine } from "../../parts/request-line.js";
import { share } from "../../pictures/share.js";
import { bindingOf, glance } from "../../parts/resources.js";
import { table } from "../../parts/rows.js";
import { listing } from "../../parts/table.js";
import { RESOURCES as T } from "../../strings/resources.js";

/** How many resources without a route are shown beside the routes. */
const FIRST = 10;

/** @typedef {import("../../types/api").RouteGuard} RouteGuard */

/** @param {Page} page */
export async function show(page) {
  const { data } = await page.call("GET", "/api/policy/coverage", { query: { size: FIRST } });
  const registers = page.may("POST /api/resource");
  page.crumbs(["/resources", T.title]);
  /** @type {Set<string>} */ let keys = new Set();
  const register = button(
    T.registerChosen({ n: 0 }),
    () => page.go(`/resources/register?requests=${encodeURIComponent([...keys].join("\n"))}`),
    { kind: "primary", icon: "plus", disabled: true },
  );
  page.title(T.coverageTitle, registers && register);
  const free = (/** @type {RouteGuard} */ route) =>
    route.guard !== "outside" && bindingOf(route) === "unregistered";
  if (page.query.get("show") === "lost")
    return page.put(card("", glance(data)), card(T.lost, h("p", null, T.lostText), lost(page)));
  page.put(
    card("", h("p", null, T.coverageText), glance(data), shares(data)),
    listing(page, {
      caption: T.coverageCaption,
      filters: [
        { name: "guard", label: T.guard, type: "select", options: Object.entries(T.guards) },
        { name: "binding", label: T.binding, type: "select", options: Object.entries(T.bindings) },
        { name: "path", label: T.request },
      ],
      columns: [
        { title: T.request, cell: (route) => requestLine(route.method, route.path) },
        {
          title: T.guard,
          cell: (route) =>
            badges(
              badge(
                T.guards[route.guard],
                route.guard === "permission" ? "" : route.guard === "login" ? "info" : "warn",
              ),
              route.guard === "permission" &&
                route.required.map((/** @type {string} */ code) => h("code", null, code)),
            ),
        },
        {
          title: T.binding,
          cell: (route) =>
            badges(
              badge(T.bindings[bindingOf(route)], bindingOf(route) === "closed" ? "warn" : ""),
              bindingOf(route) === "bound" &&
                route.resourceCodes.map((/** @type {string} */ code) => h("code", null, code)),
              route.resource &&
                !route.resource.startsWith("@") &&
                route.resource !== `${route.method} ${route.path}` &&
                h("small", null, `${T.decides} `, h("code", null, route.resource)),
            ),
        },
      ],
      buttons: (route) => [
        page.may("GET /api/policy/who") &&
          route.guard !== "outside" &&
          link(`/policy/who?${new URLSearchParams({ method: route.method, path: route.path })}`, T.who),
        registers &&
          free(route) && [
            " ",
            linkButton(
              `/resources/new?${new URLSearchParams({ method: route.method, path: route.path })}`,
              T.register,
              { kind: "quiet" },
            ),
          ],
      ],
      select: registers ? (route) => (free(route) ? `${route.method} ${route.path}` : null) : undefined,
      chosen: (chosen) => {
        keys = chosen;
        register.disabled = keys.size === 0;
        register.replaceChildren(icon("plus"), T.registerChosen({ n: keys.size }));
      },
      load: local(
        data.routes,
        ({ guard, binding, path = "" }) =>
          (/** @type {RouteGuard} */ route) =>
            (!guard || route.guard === guard) &&
            (!binding || bindingOf(route) === binding) &&
            `${route.method} ${route.path}`.toLowerCase().includes(path.toLowerCase()),
      ),
    }),
    data.unroutedTotal > 0 &&
      card(
        T.lost,
        h("p", null, T.lostText),
        table(
          T.lost,
          [T.request, ""],
          data.unrouted.map((/** @type {string} */ request) => [h("code", null, request), resource(request)]),
        ),
        data.unroutedTotal > FIRST &&
          link("/resources/coverage?show=lost", T.allLost({ n: data.unroutedTotal })),
      ),
  );
}

/** Return how many routes are guarded in which way. @param {import("../../types/api").Coverage} coverage */
function shares({ routes }) {
  const shown = (
    /** @type {string} */ title,
    /** @type {Record<string, string>} */ words,
    /** @type {Record<string, string>} */ kinds,
    /** @type {(route: RouteGuard) => string} */ key,
  ) =>
    share(
      title,
      Object.entries(words).map(([value, text]) => ({
        text,
        count: routes.filter((route) => key(route) === value).length,
        kind: kinds[value] ?? "",
      })),
    );
  return [
    shown(
      T.endpointLayer,
      T.guards,
      { permission: "good", login: "info", public: "warn" },
      (route) => route.guard,
    ),
    shown(
      T.resourceLayer,
      T.bindings,
      { bound: "good", registered: "warn", closed: "bad", none: "info" },
      bindingOf,
    ),
  ];
}

/** Return all resources without a route, page by page. @param {Page} page */
function lost(page) {
  return listing(page, {
    caption: T.lost,
    columns: [{ title: T.request, cell: ({ name }) => h("code", null, name) }],
    buttons: ({ name }) => resource(name),
    load: async ({ page: number, size }) => {
      const {
        data: { unrouted, unroutedTotal },
      } = await page.call("GET", "/api/policy/coverage", { query: { page: number, size } });
      return {
        items: unrouted.map((/** @type {string} */ name) => ({ name })),
        total: unroutedTotal,
        page: Number(number) || 1,
        size: Number(size),
      };
    },
  });
}

/** Return the way to a resource. @param {string} name Method and path. */
function resource(name) {
  return link(`/resources?path=${encodeURIComponent(name.split(" ").at(-1) ?? "")}`, T.title);
}
