// @ts-check
/** One directory: the roles of its groups, its ceiling, and what is done about it. */
import { bullets, button, card, definition, h, linkButton } from "../../core/dom.js";
import { history } from "../../parts/history.js";
import { remove, setEnabled } from "../../parts/preview.js";
import { record } from "../../parts/record.js";
import { related } from "../../parts/related.js";
import { table } from "../../parts/rows.js";
import { edited, time } from "../../parts/time.js";
import { ACTION, RECORD } from "../../strings/common.js";
import { DIRECTORIES as T } from "./strings.js";
import { stateOf } from "./list.js";

const ONE = "/api/directory/{source}";

/** @typedef {import("../../types/api").DirectoryOfService} Directory */

/** @param {Page} page */
export async function show(page) {
  const path = { source: page.params.source };
  const { data: directory, etag } = await page.call("GET", ONE, { path });
  const { name, enabled } = directory;
  await record(page, {
    base: `/directories/${name}`,
    crumbs: [["/directories", T.title]],
    title: name,
    state: !enabled && stateOf(directory),
    primary: page.may(`PUT ${ONE}`) && linkButton(`/directories/${name}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      page.may(`PUT ${ONE}`) &&
        button(enabled ? T.disable : T.enable, () =>
          setEnabled(page, {
            on: !enabled,
            name,
            texts: T,
            etag,
            write: (on, options) =>
              page.call("PUT", ONE, { path, body: { ...bodyOf(directory), enabled: on }, ...options }),
          }),
        ),
      page.may(`DELETE ${ONE}`) &&
        button(
          ACTION.delete,
          () =>
            remove(page, {
              name,
              texts: T,
              write: (dryRun) => page.call("DELETE", ONE, { path, ifMatch: etag, dryRun }),
              next: "/directories",
            }),
          { kind: "danger", icon: "trash" },
        ),
    ],
    tabs: [
      { path: "", text: T.mapping, show: () => handed(directory) },
      { path: "history", text: RECORD.history, show: () => history(page, `directory:${name}`, directory) },
    ],
    aside: card(
      T.facts,
      definition([
        [T.kind, T.kinds[directory.kind]],
        [T.client, directory.kind === "scim" && (directory.client ?? T.noClient)],
        [T.created, time(directory.createTime)],
        [T.updated, edited(directory)],
      ]),
      related(page, ["GET /api/assignment/list", "/assignments?source=directory", T.assignments, "clock"]),
    ),
  });
}

/** Return what a directory hands out. @param {Directory} directory */
function handed({ mapping, ceiling }) {
  return [
    mapping.length > 0
      ? table(
          T.mapping,
          [T.group, T.roles],
          mapping.map(({ group, roles }) => [group, listed(roles)]),
        )
      : h("p", { class: "empty" }, T.noMapping),
    card(
      T.ceiling,
      h("p", { class: "help" }, T.ceilingHelp),
      ceiling.length > 0 ? listed(ceiling) : T.noCeiling,
    ),
  ];
}

/** @param {readonly string[]} codes */
function listed(codes) {
  return bullets(codes, (code) => h("code", null, code), { class: "plain" });
}

/**
 * Return what is sent of a directory.
 * @param {Directory} directory @returns {import("../../types/api").DirectoryBody}
 */
function bodyOf({ kind, client, mapping, ceiling, enabled }) {
  return { kind, client, mapping, ceiling, enabled };
}
