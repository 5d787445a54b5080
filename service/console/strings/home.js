// @ts-check
/** The texts of the home page, in English. Functions take what varies. */

export const HOME = {
  title: (/** @type {string} */ name) => `Hello, ${name}`,
  you: "You",
  userName: "User name",
  nickName: "Name",
  roles: "Roles",
  email: "Email",
  noRoles: "No roles",
  may: "What you may do",
  mayNothing: "Your own account only. An administrator can give you a role.",
  all: (/** @type {string} */ area) => (area ? `everything below ${area}` : "everything"),
  actions: /** @type {Record<string, string>} */ ({
    list: "list",
    detail: "read",
    create: "create",
    update: "edit",
    delete: "delete",
    permission: "set permissions",
    key: "manage API keys",
    bind: "bind to Buttons",
    open: "open to everybody",
    resources: "administer their resources",
    evaluate: "ask for decisions",
    introspect: "introspect tokens",
    kick: "end sessions",
    "reset-password": "reset passwords",
  }),
};
