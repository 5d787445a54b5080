// @ts-check
/** All other services: filter, pages, and the way to each. */
import { h } from "../core/dom.js";
import { records } from "../parts/declared.js";
import { SERVICE } from "../records/service.js";
import { SERVICES as T } from "../strings/services.js";

/** @param {Page} page */
export async function show(page) {
  records(page, SERVICE, { above: h("p", null, T.text) });
}
