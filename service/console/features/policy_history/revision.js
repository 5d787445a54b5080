// @ts-check
/** One revision of the policy: what it changed, who gained and lost by it, and its restore. */
import { button, card, definition, h, link, linkButton } from "../../core/dom.js";
import { FIRST, lines } from "../../parts/lines.js";
import { notOthers, signOffs, signing } from "../../parts/sign-offs.js";
import { time } from "../../parts/time.js";
import { POLICY as T } from "../../strings/policy.js";
import { restore } from "./restore.js";
import { delta } from "./revisions.js";

/** @param {Page} page */
export async function show(page) {
  const path = /** @type {{revision: any}} */ ({ revision: page.params.revision });
  const read = async (/** @type {any} */ query) =>
    await page.call("GET", "/api/policy/revisions/{revision}", { path, query });
  const { data, headers } = await read(FIRST);
  const newest = Number(headers.get("X-Policy-Revision"));
  const isNewest = data.revision >= newest;
  const compares = page.may("GET /api/policy/diff");
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.title(
    T.revisionTitle({ n: data.revision }),
    data.revision > 1 &&
      linkButton(`/policy/revisions/${data.revision - 1}`, T.previous, { icon: "left", kind: "quiet" }),
    !isNewest &&
      linkButton(`/policy/revisions/${data.revision + 1}`, T.following, { icon: "right", kind: "quiet" }),
    compares && !isNewest && linkButton(`/policy/compare?from=${data.revision}`, T.compareNow),
    compares &&
      data.revision > 1 &&
      linkButton(`/policy/compare?from=${data.revision - 1}&to=${data.revision}&access=true`, T.impactTitle),
    !isNewest &&
      page.may("POST /api/policy/revisions/{revision}/restore") &&
      button(T.restore, () => restore(page, data.revision), { icon: "refresh" }),
    data.samePerson === null && signing(page, data.revision),
  );
  const signed = await signOffs(page, data);
  const logs = page.may("GET /api/operation-log/list");
  page.put(
    data.samePerson !== null && notOthers(page, data.samePerson),
    card(
      "",
      definition([
        [T.time, time(data.createTime)],
        [T.by_, data.userName ?? T.byNobody],
        [T.cause, data.cause],
        [T.delta, delta(data)],
        [
          T.requestId,
          data.requestId &&
            (logs
              ? link(
                  `/logs/operations?requestId=${encodeURIComponent(data.requestId)}`,
                  h("code", null, data.requestId),
                )
              : h("code", null, data.requestId)),
        ],
        ["", data.tampered > 0 && T.tampered({ n: data.tampered })],
      ]),
    ),
    signed,
    card(
      T.changesTitle,
      data.distrust
        ? h("p", null, T.distrusted({ why: data.distrust }))
        : lines(async (query) => (await read(query)).data, data, T.noChanges),
    ),
  );
}
