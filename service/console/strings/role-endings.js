// @ts-check
/** The texts of the own roles that end. */
import { saying, texts } from "../core/texts.js";

const T = await texts("role-endings");

export const ENDINGS = saying(T.ENDINGS, {
  left: (/** @type {number} */ all) => {
    const [days, hours, minutes] = [86_400, 3600, 60].map((size) => Math.floor(all / size));
    const seconds = all % 60;
    if (days > 1) return T.ENDINGS.leftDays({ days: Math.round(all / 86_400) });
    if (hours > 0) return T.ENDINGS.leftHours({ hours, minutes: minutes % 60 });
    if (minutes > 0) return T.ENDINGS.leftMinutes({ minutes, seconds });
    return T.ENDINGS.leftSeconds({ seconds });
  },
});
