// @ts-check
/** Starts a review: what it asks about, who decides, and until when. Other views lead here with a scope. */
import { Problem } from "../../client/portcullis.js";
import { h } from "../../core/dom.js";
import { tell } from "../../parts/dialog.js";
import { form } from "../../parts/form.js";
import { picker } from "../../parts/picker.js";
import { codesIn } from "../../parts/policy.js";
import { agreed } from "../../parts/preview.js";
import { allRoles } from "../../parts/roles.js";
import { roleName } from "../../parts/seed.js";
import { codes, userNames } from "../../parts/suggestions.js";
import { PATH } from "./waiting.js";
import { REVIEWS as T } from "./strings.js";

const DAY = 86_400_000;
/** Days until the deadline that is proposed. */
const DAYS = 14;

/** @param {Page} page */
export async function show(page) {
  const { query } = page;
  page.crumbs([PATH, T.title]);
  page.title(T.begin);
  const [roles, services] = await Promise.all([
    page.may("GET /api/role/list") ? allRoles(page) : null,
    page.may("GET /api/service/list") ? serviceNames(page) : null,
  ]);
  const lists = page.may("GET /api/user/list");
  const several = { several: true };
  page.put(
    form({
      subject: ({ title }) => T.subject(title),
      fields: [
        { name: "title", label: T.name, required: true, most: 128 },
        ...(roles
          ? [
              {
                name: "scope",
                label: T.roles,
                type: "custom",
                control: picker(
                  roles.map((role) => ({ key: role.id, text: roleName(role), note: role.roleCode })),
                  (query.get("roleIds") ?? "").split(",").map(Number),
                ),
              },
            ]
          : []),
        ...(lists
          ? [
              {
                name: "users",
                label: T.users,
                value: query.get("users"),
                help: T.usersHelp,
                code: true,
                wrap: userNames(page, several),
              },
            ]
          : []),
        {
          name: "codes",
          label: T.codes,
          value: query.get("codes"),
          help: T.codesHelp,
          code: true,
          wrap: codes(page, several),
        },
        ...(services?.length
          ? [
              {
                name: "services",
                label: T.services,
                type: "checks",
                help: T.servicesHelp,
                options: services,
              },
            ]
          : []),
        { name: "endless", label: T.endless, type: "check", value: query.get("endless") === "true" },
        {
          name: "unusedDays",
          label: T.unusedDays,
          type: "number",
          value: query.get("unusedDays"),
          help: T.unusedDaysHelp,
          attributes: { min: 1, max: 3650 },
        },
        ...(lists
          ? [
              {
                name: "reviewers",
                label: T.reviewers,
                help: T.reviewersHelp,
                code: true,
                wrap: userNames(page, several),
              },
            ]
          : []),
        { name: "reviewers.code", label: T.code, help: T.codeHelp, code: true, wrap: codes(page) },
        {
          name: "deadline",
          label: T.deadline,
          type: "datetime",
          required: true,
          value: new Date(Date.now() + DAYS * DAY).toISOString(),
          help: T.deadlineHelp,
        },
        {
          name: "onSilence",
          label: T.onSilence,
          type: "select",
          required: true,
          options: Object.entries(T.silences),
        },
        { name: "apply", label: T.apply, type: "select", required: true, options: Object.entries(T.applies) },
      ],
      before: h("p", { class: "help" }, T.scopeText),
      submit: T.preview,
      cancel: () => history.back(),
      save: async (values, { form: shown }) => {
        const body = await bodyOf(page, values);
        const { data } = await agreed({
          title: T.startTitle({ title: body.title }),
          more: ({ progress }) =>
            h(
              "div",
              null,
              h("p", null, T.items({ n: progress.items })),
              h("p", null, T.findings({ n: progress.findings })),
            ),
          confirm: T.start,
          write: (dryRun) => page.call("POST", "/api/review", { body, dryRun }),
        });
        shown.clean();
        tell(T.started({ title: data.title }));
        page.go(`${PATH}/${data.id}`);
      },
    }),
  );
}

/** @param {Page} page @returns {Promise<string[]>} */
async function serviceNames(page) {
  const { data } = await page.call("GET", "/api/service/list", { query: { size: 200, sort: "name" } });
  return data.items.map(({ name }) => name);
}

/**
 * Return what the form means. Throws `Problem` for a user that there is not.
 * @param {Page} page @param {Record<string, any>} values
 * @returns {Promise<import("../../types/api").ReviewBody>}
 */
async function bodyOf(page, values) {
  const listed = (/** @type {any[] | undefined} */ list) => (list?.length ? list : undefined);
  return {
    title: values.title,
    scope: {
      roleIds: listed(values.scope),
      userIds: listed(await idsOf(page, "users", values.users)),
      codes: listed(codesIn(values.codes)),
      services: listed(values.services),
      endless: values.endless || undefined,
      unusedDays: values.unusedDays ?? undefined,
    },
    reviewers: {
      userIds: listed(await idsOf(page, "reviewers", values.reviewers)),
      code: values["reviewers.code"] ?? undefined,
    },
    deadline: values.deadline,
    onSilence: values.onSilence,
    apply: values.apply,
  };
}

/**
 * Return the ids of users. Throws `Problem`, at the field, for a name that no user has.
 * @param {Page} page @param {string} field @param {string | null | undefined} text
 */
function idsOf(page, field, text) {
  return Promise.all(
    codesIn(text ?? null).map(async (userName) => {
      const { data } = await page.call("GET", "/api/user/list", { query: { userName, size: 200 } });
      const user = data.items.find((each) => each.userName.toLowerCase() === userName.toLowerCase());
      if (!user) throw new Problem(422, { errors: [{ field, message: T.nobodySuch({ name: userName }) }] });
      return user.id;
    }),
  );
}
