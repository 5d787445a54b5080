// @ts-check
/** The way from a record to other views that are about it. */
import { h, linkButton } from "../core/dom.js";
import { RELATED as T } from "../strings/common.js";

/**
 * Return links to other views, without those whose operation the caller may not call; null if none is left.
 * @param {Page} page
 * @param {[operation: string, href: string, text: string, icon: string][]} links
 */
export function related(page, ...links) {
  const offered = links.filter(([operation]) => page.may(operation));
  return (
    offered.length > 0 &&
    h(
      "nav",
      { class: "actions", "aria-label": T.title },
      offered.map(([, href, text, icon]) => linkButton(href, text, { icon })),
    )
  );
}
