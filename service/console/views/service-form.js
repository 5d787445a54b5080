// @ts-check
/** Registers another service, or edits one. */
import { card } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { previewed } from "../parts/preview.js";
import { S } from "../strings.js";

const T = S.services;
const ONE = "/api/service/{id}";
const NAMES = ["description", "ignoreCase", "ignoreTrailingSlash", "allowPreflight"];

/** @param {import("../core/router.js").Page} page */
export async function show(page) {
  page.crumbs(["/services", T.title]);
  if (page.params.id) return edit(page, { id: page.params.id });
  page.title(T.add);
  return page.put(card("", form({
    fields: [{ name: "name", label: T.name, required: true, help: T.nameHelp, attributes: { maxlength: 64, spellcheck: "false" } }, ...fields({})],
    submit: S.action.create,
    save: async (body, { key, form: shown }) => {
      const { data } = await page.call("POST", "/api/service", { body: /** @type {any} */ (body), key });
      shown.clean();
      tell(T.made(data.name));
      page.go(`/services/${data.id}`);
    },
    cancel: () => page.go("/services"),
  })));
}

/** @param {import("../core/router.js").Page} page @param {{id: string}} path */
async function edit(page, path) {
  let name = "";
  const made = await merging({
    read: async () => {
      const found = await page.call("GET", ONE, { path });
      name = found.data.name;
      return found;
    },
    pick: (one) => Object.fromEntries(NAMES.map((each) => [each, one[each]])),
    form: (one) => ({ fields: fields(one), cancel: () => page.go(`/services/${one.id}`) }),
    write: async (body, { etag }) => {
      const done = await previewed({ title: T.saveTitle(name), confirm: S.action.save,
        write: (dryRun) => page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun }) });
      if (done === false) throw new DOMException("", "AbortError"); // the form stays as it is
      return done;
    },
    saved: ({ data }) => {
      tell(T.saved(data.name));
      page.go(`/services/${data.id}`);
    },
  });
  page.title(T.editTitle(name));
  page.put(card("", made));
}

/** @param {any} one @returns {import("../parts/form.js").Field[]} */
function fields(one) {
  return [
    { name: "description", label: T.description, type: "textarea", value: one.description },
    { name: "ignoreCase", label: T.ignoreCase, type: "check", value: one.ignoreCase, help: T.ignoreCaseHelp },
    { name: "ignoreTrailingSlash", label: T.ignoreTrailingSlash, type: "check", value: one.ignoreTrailingSlash, help: T.slashHelp },
    { name: "allowPreflight", label: T.allowPreflight, type: "check", value: one.allowPreflight, help: T.preflightHelp },
  ];
}
