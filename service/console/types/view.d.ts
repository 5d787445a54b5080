/** Views, and what features add to the core: what `loaders.js` and `features/<name>/feature.js` list. */
import type { Child } from "../core/dom.js";
import type { Page as ShownPage } from "../core/page.js";

declare global {
  /** A view that is shown: most scripts take it. */
  type Page = ShownPage;
}

/** An entry of the navigation that a view of a feature brings; it stands behind the entry with the path `after`. */
export interface Entry {
  after: string;
  text: string;
  icon: string;
  /** Counts what waits for the caller, which the entry says beside its text. */
  waiting?: () => Promise<Waiting>;
}

/** What counts how much waits for the caller; `counted` is told the number whenever it is read. */
export interface Waiting {
  hooks: { counted: (count: number) => void };
  count: () => Promise<unknown>;
}

/** A view is offered when the caller may call its operation. */
export interface View {
  pattern: string;
  load: () => Promise<{ show: (page: Page, parts: ShowPart[]) => Promise<(() => void) | void> }>;
  /** Such as `GET /api/user/list`; without one, every user may see the view. */
  operation?: string;
  /** Its place in the navigation; the entries of the core are in `navigation.js`. */
  entry?: Entry;
  /** What features add to it. */
  parts?: Part[];
}

/** What a feature adds to the view with the pattern `within`, for callers who may call the operation. */
export interface Part {
  within: string;
  operation: string;
  load: () => Promise<{ part: ShowPart }>;
}

/** Returns what a part shows, of the record of the view where there is one; null for nothing. Home takes a `HomePart`. */
export type ShowPart = (page: Page, record?: any) => Promise<any>;

/** What a feature adds to home: what waits for the caller, null for nothing, and cards about what is the caller's. */
export interface HomePart {
  waiting: () => Promise<Child>;
  own: Child[];
}
