// What a client in TypeScript does that openapi-generator has made. It compiles only if the types allow it,
// and runs only if the service answers as they say.

import {
  AuthApi,
  Configuration,
  type PermissionDeniedProblem,
  PermissionDeniedProblemFromJSON,
  type PreconditionFailedProblem,
  PreconditionFailedProblemFromJSON,
  ResponseError,
  RoleApi,
  UserApi,
  type ValidationFailedProblem,
  ValidationFailedProblemFromJSON,
} from "./client";

const PASSWORD = "three wary herons";

function check(holds: boolean, claim: string): asserts holds {
  if (!holds) {
    throw new Error(claim);
  }
}

function configurationOf(basePath: string, accessToken?: string): Configuration {
  return new Configuration(accessToken === undefined ? { basePath } : { basePath, accessToken });
}

async function tokenOf(url: string, userName: string, password: string): Promise<string> {
  const answer = await new AuthApi(configurationOf(url)).logIn({ credentials: { userName, password } });
  return answer.data.accessToken;
}

async function refusalOf(request: Promise<unknown>): Promise<Response> {
  try {
    await request;
  } catch (error) {
    check(error instanceof ResponseError, "a refusal is an answer");
    return error.response;
  }
  throw new Error("nothing was refused");
}

export async function scenario(url: string, userName: string, password: string): Promise<void> {
  const admin = configurationOf(url, await tokenOf(url, userName, password));
  const roles = new RoleApi(admin);
  const users = new UserApi(admin);

  const listed = await users.listUsers({ size: 5, sort: "-createTime" });
  const names: string[] = listed.data.items.map((user) => user.userName);
  check(names.includes(userName), "the administrator is in the list");

  const made = await roles.createRole({ newRole: { roleCode: "by-fetch", roleName: "Made" } });
  const id: number = made.data.id;
  check(made.preview === undefined, "a write has no preview");
  const ifMatch = (await roles.getRoleRaw({ id })).raw.headers.get("ETag");
  check(ifMatch !== null, "a record has a tag");

  const dry = await roles.patchRole({ id, rolePatch: { permissions: ["system:user:list"] }, dryRun: true });
  const same: number = dry.data.id;
  const gained: string[] | undefined = dry.preview?.gains[0]?.access;
  check(same === id && gained?.includes("GET /api/user/list") === true, "a dry run says what would be gained");
  check((await roles.getRolePermissions({ id })).data.permissions.length === 0, "and saves nothing");

  const changed = await roles.patchRole({ id, rolePatch: { roleName: "Changed" }, ifMatch });
  check(changed.data.roleName === "Changed", "the role is changed");
  const late = await refusalOf(roles.patchRole({ id, rolePatch: { roleName: "Late" }, ifMatch }));
  const outdated: PreconditionFailedProblem = PreconditionFailedProblemFromJSON(await late.json());
  check(late.status === 412 && outdated.code === "precondition_failed", "an old tag is refused");

  const weak = await refusalOf(
    users.createUser({ userBody: { userName: "weak", nickName: "Weak", password: "x" } }),
  );
  const invalid: ValidationFailedProblem = ValidationFailedProblemFromJSON(await weak.json());
  const [fault] = invalid.errors;
  const faultCode: string | undefined = fault?.code;
  const faultParams = Object.keys(fault?.params ?? {}).sort().join();
  check(faultCode === "too_short" && faultParams === "least,most", "a fault has its code and parameters");

  await users.createUser({ userBody: { userName: "fetched", nickName: "Fetched", password: PASSWORD } });
  const person = new UserApi(configurationOf(url, await tokenOf(url, "fetched", PASSWORD)));
  const denied = await refusalOf(person.listUsers());
  const problem: PermissionDeniedProblem = PermissionDeniedProblemFromJSON(await denied.json());
  check(denied.status === 403 && problem.required.join() === "system:user:list", "the problem says what is missing");

  check((await roles.deleteRole({ id })).data === null, "an answer without content");
}
