// @ts-check
/** Registers the operations of an OpenAPI document, which is read in the browser. */
import { card, h } from "../core/dom.js";
import { form } from "../parts/form.js";
import { Unreadable, operationsOf, shapeOf } from "../parts/openapi.js";
import { registering } from "../parts/registering.js";
import { OWN, serviceOptions } from "../parts/resources.js";
import { table } from "../parts/rows.js";
import { templateOf } from "../parts/transfer.js";
import { RESOURCES as T } from "../strings/resources.js";

/** A document with one operation, to begin with. */
const EXAMPLE = {
  openapi: "3.1.0",
  info: { title: "Orders", version: "1" },
  paths: { "/orders/{id}": { get: { operationId: "readOrder", summary: "Read an order", responses: {} } } },
};

/** @param {Page} page */
export async function show(page) {
  const services = await serviceOptions(page);
  const result = h("div", { class: "body", "aria-live": "polite" });
  page.crumbs(["/resources", T.title]);
  page.title(T.importTitle);
  page.put(
    h("p", null, T.importText),
    templateOf("openapi.json", JSON.stringify(EXAMPLE, null, 2), "application/json"),
    card(
      "",
      form({
        fields: [
          {
            name: "service",
            label: T.service,
            type: services ? "select" : "text",
            required: true,
            options: services ?? [],
            value: services?.[1]?.[0] ?? OWN,
          },
          { name: "base", label: T.base, help: T.baseHelp, code: true },
          {
            name: "file",
            label: T.file,
            type: "file",
            required: true,
            attributes: { accept: ".json,application/json" },
          },
        ],
        submit: T.read,
        quiet: true,
        save: async ({ service, base, file }, { form: shown }) => {
          result.replaceChildren();
          try {
            const { operations, unusable } = operationsOf(parsed(await file.text()), service, base);
            const known = await registered(page, service);
            const fresh = operations.filter(({ method, path }) => !known.has(`${method} ${shapeOf(path)}`));
            result.replaceChildren(
              h(
                "p",
                null,
                T.summary({
                  fresh: fresh.length,
                  same: operations.length - fresh.length,
                  unusable: unusable.length,
                }),
              ),
            );
            if (fresh.length) result.append(registering(page, fresh, { disabled: true }));
            if (unusable.length)
              result.append(
                card(
                  T.unusable,
                  table(
                    T.unusable,
                    [T.operation, T.reason],
                    unusable.map(({ operation, reason }) => [h("code", null, operation), reason]),
                  ),
                ),
              );
          } catch (problem) {
            if (problem instanceof Unreadable)
              shown.notes.replaceChildren(h("p", { class: "fault", role: "alert" }, problem.message));
            else throw problem;
          }
        },
      }),
    ),
    result,
  );
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable(T.noJson);
  }
}

/** Return method and shape of what is registered for a service. @param {Page} page @param {string} service */
async function registered(page, service) {
  const requests = new Set();
  for (let number = 1, left = 1; left > 0; number += 1) {
    const { data } = await page.call("GET", "/api/resource/list", {
      query: { service, page: number, size: 200 },
    });
    for (const resource of data.items) requests.add(`${resource.method} ${shapeOf(resource.path)}`);
    left = data.items.length ? data.total - number * data.size : 0;
  }
  return requests;
}
