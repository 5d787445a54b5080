// @ts-check
/**
 * The registry of features in the console: one line for each exports the `VIEWS` of its `feature.js`, under the name of
 * the feature in `service/features`.
 */
export { VIEWS as tables } from "./features/tables/feature.js";
