// @ts-check
/**
 * The registry of features in the console: one line a feature, which hands over its views, such as
 * `export { VIEWS as reviews } from "./features/reviews/feature.js";`. The name is that of its folder, and of the
 * feature in `service/features`.
 */
export {};
