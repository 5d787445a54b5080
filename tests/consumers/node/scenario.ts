// What a client in TypeScript does with the service. It compiles only if the types generated from the OpenAPI
// document allow it, and runs only if the service answers as they say.

import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./api.js";

type TokenPair = components["schemas"]["TokenPair"];

const PASSWORD = "three wary herons";

function check(holds: boolean, claim: string): asserts holds {
  if (!holds) {
    throw new Error(claim);
  }
}

function present<T>(value: T | undefined, claim: string): T {
  check(value !== undefined, claim);
  return value;
}

function clientOf(baseUrl: string, token?: string) {
  const client = createClient<paths>({ baseUrl });
  const bearer: Middleware = {
    onRequest({ request }) {
      if (token !== undefined) {
        request.headers.set("Authorization", `Bearer ${token}`);
      }
      return request;
    },
  };
  client.use(bearer);
  return client;
}

type Client = ReturnType<typeof clientOf>;

async function logIn(api: Client, userName: string, password: string): Promise<TokenPair> {
  const { data } = await api.POST("/api/auth/login", { body: { userName, password } });
  return present(data, "a login answers tokens").data;
}

async function createUser(admin: Client, userName: string): Promise<components["schemas"]["User"]> {
  const body = { userName, nickName: userName, password: PASSWORD };
  const { data, response } = await admin.POST("/api/user", { body });
  check(response.status === 201, "a user is created");
  return present(data, "the user is answered").data;
}

async function listUsers(admin: Client): Promise<void> {
  const { data } = await admin.GET("/api/user/list", { params: { query: { size: 5, sort: "-createTime" } } });
  const page = present(data, "users are listed").data;
  const status: "enabled" | "disabled" | undefined = page.items[0]?.status;
  check(status === "enabled" && page.total >= 1, "the administrator is in the list");
}

async function nameTwice(admin: Client): Promise<void> {
  await createUser(admin, "heron");
  const body = { userName: "heron", nickName: "Another", password: PASSWORD };
  const { error, response } = await admin.POST("/api/user", { body });
  check(response.status === 409, "a name is given once");
  check(error?.code === "conflict", "the problem says so");
  check(error.field === "userName", "the problem names the member");
}

async function rights(url: string, api: Client, admin: Client): Promise<void> {
  const user = await createUser(admin, "egret");
  const pair = await logIn(api, "egret", PASSWORD);
  const egret = clientOf(url, pair.accessToken);

  const denied = await egret.GET("/api/user/list");
  check(denied.error?.code === "permission_denied", "a user without a role may do little");
  const layer: components["schemas"]["DecisionLayer"] = denied.error.layer;
  const required: string[] = denied.error.required;
  check(layer === "resource" && required.join() === "system:user:list", "the problem says what is missing");

  const role = await admin.POST("/api/role", { body: { roleCode: "lister", roleName: "Lister" } });
  const made = present(role.data, "a role is created").data;
  const given = await admin.PUT("/api/role/{id}/permissions", {
    params: { path: { id: made.id } },
    body: { permissions: ["system:user:list"] },
  });
  check(given.response.status === 200, "the role gets its permission");
  const read = await admin.GET("/api/user/{id}", { params: { path: { id: user.id } } });
  const assigned = await admin.PATCH("/api/user/{id}", {
    params: { path: { id: user.id }, header: { "If-Match": present(read.response.headers.get("ETag") ?? undefined, "a tag") } },
    body: { roleIds: [made.id] },
  });
  check(assigned.response.status === 200, "the user gets the role");

  const outdated = await egret.GET("/api/user/list");
  check(outdated.error?.code === "refresh_required", "the token is to be refreshed");
  const spent = { body: { refreshToken: pair.refreshToken } };
  const renewed = await api.POST("/api/auth/refresh", spent);
  const now = clientOf(url, present(renewed.data, "a refresh answers tokens").data.accessToken);
  check((await now.GET("/api/user/list")).response.status === 200, "the right is in force");

  const slower = await api.POST("/api/auth/refresh", spent);
  check(slower.error?.code === "refresh_rejected", "a refresh token is spent once");
  check(slower.error.reason === "superseded", "the reason is a race of tabs");
}

async function changes(admin: Client): Promise<void> {
  const role = await admin.POST("/api/role", { body: { roleCode: "typed", roleName: "Typed" } });
  const id: number = present(role.data, "a role is created").data.id;
  check(role.data?.preview === undefined, "a write has no preview");
  const path = { id };
  const read = await admin.GET("/api/role/{id}", { params: { path } });
  const header = { "If-Match": read.response.headers.get("ETag") ?? "" };

  const body = { permissions: ["system:user:list"] };
  const dry = await admin.PATCH("/api/role/{id}", { params: { path, query: { dryRun: true } }, body });
  const same: number = present(dry.data, "a dry run is answered").data.id;
  const gained: string[] | undefined = dry.data?.preview?.gains[0]?.access;
  check(same === id && gained?.includes("GET /api/user/list") === true, "it says what would be gained");
  const kept = await admin.GET("/api/role/{id}/permissions", { params: { path } });
  check(kept.data?.data.permissions.length === 0, "and saves nothing");

  const changed = await admin.PATCH("/api/role/{id}", { params: { path, header }, body: { roleName: "Changed" } });
  check(changed.data?.data.roleName === "Changed", "the role is changed");
  const late = await admin.PATCH("/api/role/{id}", { params: { path, header }, body: { roleName: "Late" } });
  check(late.error?.code === "precondition_failed", "an old tag is refused");
  const gone = await admin.DELETE("/api/role/{id}", { params: { path } });
  check(gone.data?.data === null, "an answer without content");
}

async function files(admin: Client): Promise<void> {
  const content = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0, 255, 128, 13, 10]);
  const sent = await admin.POST("/api/file", {
    // The generator's type of binary content is a string.
    body: { file: new Blob([content], { type: "application/pdf" }) as unknown as string },
    bodySerializer: ({ file }) => {
      const form = new FormData();
      form.append("file", file as unknown as Blob, "report.pdf");
      return form;
    },
  });
  const file = present(sent.data, "a file is uploaded").data;
  check(file.size === content.length, "its size is answered");
  const got = await admin.GET("/api/file/{id}", {
    params: { path: { id: file.id } },
    parseAs: "arrayBuffer",
  });
  const bytes = new Uint8Array(present(got.data, "the file is downloaded") as unknown as ArrayBuffer);
  check(bytes.length === content.length && bytes.every((one, at) => one === content[at]), "it is the same");
}

async function pages(admin: Client): Promise<void> {
  const found = new Set<number>();
  let total = 1;
  for (let page = 1; (page - 1) * 10 < total; page += 1) {
    const { data } = await admin.GET("/api/menu/list", { params: { query: { page, size: 10 } } });
    const answered = present(data, "a page is answered").data;
    answered.items.forEach((one) => found.add(one.id));
    total = answered.total;
  }
  check(total > 20 && found.size === total, "every menu is on one page");

  const first = await admin.GET("/api/online/list", { params: { query: { size: 1 } } });
  const online = present(first.data, "users are online").data;
  const cursor = present(online.nextCursor ?? undefined, "there are more");
  const next = await admin.GET("/api/online/list", { params: { query: { size: 1, cursor } } });
  const others = present(next.data, "the list goes on").data.items;
  check(others[0]?.loginId !== online.items[0]?.loginId, "with somebody else");
}

export async function scenario(url: string, userName: string, password: string): Promise<void> {
  const api = clientOf(url);
  const admin = clientOf(url, (await logIn(api, userName, password)).accessToken);
  await listUsers(admin);
  await nameTwice(admin);
  await rights(url, api, admin);
  await changes(admin);
  await files(admin);
  await pages(admin);
}
