// @ts-check
/**
 * The registry of features in the console: one line for each exports the `VIEWS` of its `feature.js`. They are views of
 * its own, and parts of views of the core that ask for them (`types/view.d.ts`). The name of a line is the name of
 * the feature in `service/features`.
 */
export { VIEWS as access_requests } from "./features/access_requests/feature.js";
export { VIEWS as agents } from "./features/agents/feature.js";
export { VIEWS as assignments } from "./features/assignments/feature.js";
export { VIEWS as chat } from "./features/chat/feature.js";
export { VIEWS as directories } from "./features/directories/feature.js";
export { VIEWS as events } from "./features/events/feature.js";
export { VIEWS as explain } from "./features/explain/feature.js";
export { VIEWS as follower } from "./features/follower/feature.js";
export { VIEWS as operations } from "./features/operations/feature.js";
export { VIEWS as personal_data } from "./features/personal_data/feature.js";
export { VIEWS as personal_keys } from "./features/personal_keys/feature.js";
export { VIEWS as policy_history } from "./features/policy_history/feature.js";
export { VIEWS as reviews } from "./features/reviews/feature.js";
export { VIEWS as tables } from "./features/tables/feature.js";
