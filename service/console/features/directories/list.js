// @ts-check
/** All directories: what each may hand out, and the way to it. */
import { badge, empty, h, linkButton } from "../../core/dom.js";
import { areThere } from "../../parts/providers.js";
import { rows } from "../../parts/block.js";
import { whole } from "../../parts/local.js";
import { listing } from "../../parts/table.js";
import { edited } from "../../parts/time.js";
import { DIRECTORIES as T } from "./strings.js";

/** @param {Page} page */
export async function show(page) {
  const sets = page.may("PUT /api/directory/{source}");
  page.title(T.title, sets && linkButton("/directories/new", T.add, { icon: "plus", kind: "primary" }));
  const [{ data: stored }, { data: providers }] = await Promise.all([
    page.call("GET", "/api/directory/list"),
    areThere() ? page.call("GET", "/api/auth/oidc") : { data: { items: [] } },
  ]);
  const names = new Set(stored.items.map(({ name }) => name));
  const bare = providers.items.filter(({ name }) => !names.has(name));
  page.put(
    h("p", null, T.text),
    bare.length > 0 &&
      rows(
        bare.map(({ name, title }) => ({
          text: T.bare({ title }),
          act: sets && linkButton(`/directories/new?${new URLSearchParams({ name })}`, T.set({ name })),
        })),
      ),
    listing(page, {
      caption: T.title,
      columns: [
        { title: T.name, cell: ({ name }) => name },
        { title: T.kind, cell: ({ kind }) => T.kinds[kind] },
        { title: T.mapping, cell: ({ mapping }) => T.groups({ n: mapping.length }) },
        { title: T.ceiling, cell: ({ ceiling }) => T.codes({ n: ceiling.length }) },
        { title: T.state, cell: stateOf },
        { title: T.updated, cell: edited },
      ],
      row: ({ name }) => `/directories/${name}`,
      load: async () => whole((await page.call("GET", "/api/directory/list")).data.items),
      empty: empty(T.none),
    }),
  );
}

/** Return whether a directory is in use. @param {{enabled: boolean}} directory */
export function stateOf({ enabled }) {
  return enabled ? badge(T.inUse) : badge(T.cutOff, "bad");
}
