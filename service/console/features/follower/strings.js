// @ts-check
/** The texts about followers, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

export const FOLLOWERS = {
  title: "Followers",
  text:
    "Processes that make decisions next to other services, with a copy of this policy. Each stops " +
    "deciding when its lease has not been renewed within its bound. Followers without a renewal for a " +
    "day are not listed.",
  follower: "Follower",
  state: "State",
  follows: "Decides",
  lapsed: "No lease",
  account: "Service account",
  followed: "Services",
  behind: "Behind",
  revisionsBehind: (/** @type {number} */ n) => (n > 0 ? count(n, "revision", "revisions") : "Nothing"),
  renewed: "Last renewal",
  bound: "Bound",
  seconds: (/** @type {number} */ n) => `${n.toLocaleString(undefined, { maximumFractionDigits: 1 })} s`,
};
