// @ts-check
/** Registers a resource with the Buttons that open it, or edits one. */
import { creating, editing } from "../parts/declared.js";
import { readButtons } from "../parts/menus.js";
import { missingButton } from "../parts/new-button.js";
import { agreed } from "../parts/preview.js";
import { OWN, serviceOptions, suggested } from "../parts/resources.js";
import { RESOURCE } from "../records/resource.js";
import { RESOURCES as T } from "../strings/resources.js";

/** @param {Page} page */
export async function show(page) {
  if (page.params.id) return editing(page, RESOURCE, {});
  const binds = page.may("PUT /api/resource/{id}/buttons") && page.may("GET /api/menu/list");
  const [services, buttons] = await Promise.all([serviceOptions(page), binds ? readButtons(page) : null]);
  // A path of a route is of this service; else another service is more likely.
  const usual = page.query.has("path") ? OWN : (services?.[1]?.[0] ?? OWN);
  const { method = "GET", path = "", service = usual } = Object.fromEntries(page.query);
  const record = { method, path, service, ...namesFor({ method, path, service }) };
  const made = creating(page, RESOURCE, {
    title: T.newTitle,
    record,
    known: { services, buttons, missing: missingButton(page) },
    submit: T.preview,
    write: (write, { resourceName }) =>
      agreed({ title: T.makeTitle({ name: resourceName }), text: T.makeText, confirm: T.register, write }),
  });
  suggesting(made, record);
}

/** Return name and code for a request, none while it has no path. @param {Record<string, any>} request */
function namesFor({ service, method, path }) {
  return path ? suggested(service, method, path) : { resourceName: null, resourceCode: null };
}

/**
 * Have name and code follow the request until the reader gives others.
 * @param {import("../parts/form.js").Form} form
 * @param {Record<string, any>} record What the form begins with.
 */
function suggesting(form, record) {
  let last = namesFor(record);
  const follow = () => {
    const values = form.values();
    const next = namesFor(values);
    const untouched = Object.entries(next).filter(
      ([name]) => values[name] === last[/** @type {keyof typeof last} */ (name)],
    );
    form.fill(Object.fromEntries(untouched));
    last = next;
  };
  form.addEventListener("input", follow);
  form.addEventListener("change", follow);
}
