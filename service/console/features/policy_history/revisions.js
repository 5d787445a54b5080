// @ts-check
/** The revisions of the policy as a timeline, and the way to compare two. */
import { badge, button, card, h, linkButton } from "../../core/dom.js";
import { shownNumber } from "../../core/locale.js";
import { restore } from "./restore.js";
import { signedBy } from "../../parts/sign-offs.js";
import { listing } from "../../parts/table.js";
import { time } from "../../parts/time.js";
import { history } from "../../pictures/history.js";
import { HISTORY } from "../../strings/pictures.js";
import { POLICY as T } from "../../strings/policy.js";
import { SIGN_OFFS } from "../../strings/sign-offs.js";

/** @param {Page} page */
export async function show(page) {
  const compares = page.may("GET /api/policy/diff");
  /** @type {number[]} */ let chosen = [];
  let newest = 0;
  const compare = button(
    T.compareTwo,
    () => page.go(`/policy/compare?from=${Math.min(...chosen)}&to=${Math.max(...chosen)}`),
    { disabled: true },
  );
  page.title(
    T.tab.revisions,
    page.may("GET /api/policy") && linkButton("/policy", T.tab.model),
    page.may("GET /api/policy/changes") && linkButton("/changes?since=sign-off", SIGN_OFFS.since),
    compares && compare,
  );
  page.put(
    h("p", null, T.revisionsText),
    card(HISTORY.title, h("p", null, HISTORY.text), history(page)),
    listing(page, {
      caption: T.revisionsCaption,
      filters: [
        { name: "userName", label: T.by_ },
        { name: "from", label: T.fromTime, type: "date" },
        { name: "to", label: T.toTime, type: "date" },
      ],
      columns: [
        { title: T.revision, cell: (revision) => String(revision.revision) },
        { title: T.time, cell: (revision) => time(revision.createTime) },
        { title: T.by_, cell: (revision) => revision.userName ?? h("span", { class: "soft" }, T.byNobody) },
        {
          title: T.cause,
          kind: "whole",
          cell: (revision) => [
            revision.cause,
            revision.tampered > 0 && [" ", badge(T.tampered({ n: revision.tampered }), "bad")],
            revision.distrust && [" ", badge(T.distrusted({ why: revision.distrust }), "bad")],
          ],
        },
        { title: T.delta, cell: delta },
        { title: SIGN_OFFS.card, kind: "wide", cell: signedBy },
      ],
      row: (revision) => `/policy/revisions/${revision.revision}`,
      buttons: page.may("POST /api/policy/revisions/{revision}/restore")
        ? ({ revision }) =>
            revision < newest &&
            button(T.restore, () => restore(page, revision), { "aria-label": T.restoreOne({ n: revision }) })
        : undefined,
      select: compares ? (revision) => revision.revision : undefined,
      chosen: (keys) => {
        chosen = [...keys];
        compare.disabled = chosen.length !== 2;
      },
      load: async (query) => {
        const { data, headers } = await page.call("GET", "/api/policy/revisions", { query });
        newest = Number(headers.get("X-Policy-Revision"));
        return data;
      },
    }),
  );
}

/** Return how many lines came and went. @param {{added: number | null, removed: number | null}} revision */
export function delta({ added, removed }) {
  if (added === null || removed === null) return T.unknownLines;
  return h(
    "span",
    { class: "delta" },
    h("ins", null, `+${shownNumber(added)}`),
    " ",
    h("del", null, `−${shownNumber(removed)}`),
  );
}
