// @ts-check
/** Registers the requests that were chosen under Coverage. */
import { empty, h, linkButton } from "../core/dom.js";
import { registering } from "../parts/registering.js";
import { OWN, suggested } from "../parts/resources.js";
import { RESOURCES as T } from "../strings/resources.js";

/** @param {Page} page */
export async function show(page) {
  page.crumbs(["/resources", T.title], ["/resources/coverage", T.coverageTitle]);
  page.title(T.registerTitle);
  const requests = (page.query.get("requests") ?? "")
    .split("\n")
    .map((request) => request.split(" "))
    .filter(([, path]) => path);
  if (!requests.length)
    return page.put(
      empty(T.nothingChosen, linkButton("/resources/coverage?binding=unregistered", T.coverage)),
    );
  page.put(
    h("p", null, T.registerText, " ", T.makeText),
    registering(
      page,
      requests.map(([method, path]) => ({ method, path, service: OWN, ...suggested(OWN, method, path) })),
    ),
  );
}
