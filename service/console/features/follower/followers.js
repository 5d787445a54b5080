// @ts-check
/** Who decides beside other services, by a copy of the policy. */
import { badge, card, h } from "../../core/dom.js";
import { table } from "../../parts/rows.js";
import { time } from "../../parts/time.js";
import { POLICY } from "../../strings/policy.js";
import { FOLLOWERS as T } from "./strings.js";
import { enumerated } from "../../strings/common.js";

/** Return the followers that were seen within a day, nothing where there are none. @param {Page} page */
export async function part(page) {
  const {
    data: { revision, followers },
  } = await page.call("GET", "/api/policy/followers");
  if (!followers.length) return null;
  return card(
    T.title,
    h("p", null, T.text),
    table(
      T.title,
      [T.follower, T.state, T.account, T.followed, POLICY.revision, T.behind, T.renewed, T.bound],
      followers.map((each) => [
        h("code", null, each.name),
        each.following ? badge(T.follows, "good") : badge(T.lapsed, "warn"),
        page.linked("user", each.userId, each.userName),
        enumerated(each.services),
        each.revision ? String(each.revision) : null,
        each.revision ? T.revisionsBehind(revision - each.revision) : null,
        time(each.seenTime, { seconds: true }),
        T.seconds((Date.parse(each.leaseTime) - Date.parse(each.seenTime)) / 1000),
      ]),
    ),
  );
}
