// Calls of the management API. The session is a cookie that no script can read. Where cookies are
// not kept, the token stays in the memory of this page alone and goes with it.

let bearer = null;

/// An answer that is no good one.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function ask(method, path, { body, headers = {}, signal } = {}) {
  const all = { ...headers };
  if (body !== undefined) all["content-type"] = "application/json";
  if (bearer !== null) all.authorization = `Bearer ${bearer}`;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(path, {
    method, headers: all, body: sent, signal, cache: "no-store", credentials: "same-origin", redirect: "error",
  });
  if (answer.ok) return answer;
  throw new Refused(answer.status, await words(answer));
}

/// The JSON of a good answer; null where it has none.
export async function call(method, path, body) {
  const answer = await ask(method, path, { body });
  return answer.status === 204 ? null : answer.json();
}

async function words(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return `the answer is ${answer.status}`;
  }
}

/// Whether this page may manage.
export async function isIn() {
  try {
    await call("GET", "api/actors");
    return true;
  } catch (refused) {
    if (refused.status === 401) return false;
    throw refused;
  }
}

export async function signIn(token) {
  bearer = null;
  try {
    await call("POST", "api/auth/login", { token });
  } catch (refused) {
    throw refused.status === 401 ? new Refused(401, "This token is not the admin token.") : refused;
  }
  if (!(await isIn())) bearer = token;
}

export async function signOut() {
  const held = bearer !== null;
  bearer = null;
  if (!held) await call("POST", "api/auth/logout");
}
