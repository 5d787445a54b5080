// A certified provider of OpenID Connect on this machine, as the JSON of its first argument says.
// Its page to log in is a form without a page: a test posts to it what a person would have typed.
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { modules, port, client, keys, conform } = JSON.parse(process.argv[2]);
const { Provider } = await import(pathToFileURL(join(modules, "oidc-provider", "lib", "index.js")).href);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client],
  jwks: { keys },
  acrValues: ["strong", "passkey"],
  claims: {
    openid: ["sub", "amr"],
    profile: ["name", "preferred_username"],
    email: ["email", "email_verified"],
  },
  conformIdTokenClaims: conform,
  // Without the protection against places on this machine: the client is one.
  fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined }),
  cookies: { keys: ["a key of this test"] },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: async (ctx, form) => {
        ctx.body = form;
      },
    },
  },
  findAccount: async (_ctx, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id,
      name: `Person ${id}`,
      preferred_username: id,
      email: `${id}@example.org`,
      email_verified: true,
    }),
  }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  // Nobody is asked to consent.
  loadExistingGrant: async (ctx) => {
    const { accountId } = ctx.oidc.session;
    const grant = new ctx.oidc.provider.Grant({ accountId, clientId: ctx.oidc.client.clientId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});
provider.on("backchannel.error", (_ctx, error) => console.error(error, error.cause));
provider.on("server_error", (_ctx, error) => console.error(error));
provider.on("grant.error", (_ctx, error) => console.error(`grant: ${error.message} ${error.error_detail}`));

const serve = provider.callback();
createServer(async (request, response) => {
  if (request.method !== "POST" || !request.url.startsWith("/interaction/")) {
    return serve(request, response);
  }
  const typed = new URL(request.url, "http://localhost").searchParams;
  const login = { accountId: typed.get("account"), acr: typed.get("acr") ?? undefined };
  const result = typed.has("account")
    ? { login: { ...login, amr: typed.get("amr")?.split(" ") } }
    : { error: "access_denied", error_description: "The person does not want to" };
  try {
    await provider.interactionFinished(request, response, result);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
}).listen(port, "127.0.0.1");
