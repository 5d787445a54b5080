// @ts-check
/** All resources: coverage at a glance, filters, pages, and the way to each. */
import { card, h } from "../core/dom.js";
import { Problem } from "../client/portcullis.js";
import { records } from "../parts/declared.js";
import { glance, serviceOptions } from "../parts/resources.js";
import { resourceName } from "../parts/seed.js";
import { switching } from "../parts/selection.js";
import { trouble } from "../parts/trouble.js";
import { RESOURCE } from "../records/resource.js";
import { FRAME } from "../strings/frame.js";
import { RESOURCES as T } from "../strings/resources.js";

/** @param {Page} page */
export async function show(page) {
  const many = switching(page, "/api/resource/bulk/enabled", T.number, resourceName);
  const coverage = page.may("GET /api/policy/coverage") && h("p", { class: "loading" }, FRAME.loading);
  records(page, RESOURCE, {
    known: await serviceOptions(page),
    above: coverage && card("", coverage),
    below: many.element,
    list: many.listed,
  });
  if (!coverage) return;
  try {
    const { data } = await page.call("GET", "/api/policy/coverage", { query: { size: 1 } });
    coverage.replaceWith(glance(data));
  } catch (problem) {
    if (problem instanceof Problem) coverage.replaceWith(trouble(problem));
  }
}
