// @ts-check
/** The texts of reviews, and of unused rights. */
import { say, saying, texts } from "../../core/texts.js";

const T = await texts("reviews");

export const REVIEWS = saying(T.REVIEWS, {
  subject: (/** @type {string | null} */ title) =>
    title ? say(T.REVIEWS.subject, { title }) : T.REVIEWS.subjectUntitled,
});

export const UNUSED = saying(T.UNUSED);
