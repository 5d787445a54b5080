// @ts-check
/** The texts of the own roles that end, in English. Functions take what varies. */
import { count } from "./words.js";

export const ENDINGS = {
  title: "Expiring roles",
  text: "Your temporary roles, and the time left.",
  left: (/** @type {number} */ seconds) => {
    const [days, hours, minutes] = [86_400, 3600, 60].map((size) => Math.floor(seconds / size));
    if (days > 1) return `${count(days, "day", "days")} left`;
    if (hours > 0) return `${hours} h ${minutes % 60} min left`;
    return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`;
  },
  gone: "ended",
  request: "Request",
};
