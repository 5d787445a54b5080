// @ts-check
/** The texts of reviews, and of unused rights. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("reviews");

export const { UNUSED } = T;

export const REVIEWS = saying(T.REVIEWS, {
  subject: (/** @type {string | null} */ title) =>
    title ? T.REVIEWS.subject({ title }) : T.REVIEWS.subjectUntitled,
});
