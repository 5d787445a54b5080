// @ts-check
/** The texts about followers, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

export const FOLLOWERS = {
  title: "Followers",
  text:
    "Processes that decide beside other services by a copy of this policy. Each may decide until its bound after its " +
    "last renewal. Who has not renewed for a day is left out.",
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
