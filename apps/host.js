/*
 * AppHost shows one MCP App in a frame and exchanges messages with it: MCP Apps 2026-01-26.
 *
 *   const host = new AppHost({ frame, view, request });
 *   host.onmessage = ({ content }) => addToConversation(content);
 *   host.toolInput(args);
 *   host.toolResult(await callTool(view.tool.name, args));
 *
 * view is what Host.Open returns in Go, and request(method, params) a function that passes a
 * request to View.ServeHTTP. Messages for the app wait until it is initialized, and keep the
 * order of the specification. host.d.ts describes every option, handler and method.
 */
const notification = (name) => "ui/notifications/" + name;

// The requests of an app that its server answers.
const serverMethods = new Set([
  "tools/call",
  "tools/list",
  "resources/read",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "sampling/createMessage",
]);

export class AppHost {
  #options;
  #frame;
  #origin;
  #context;
  #declared = {};
  #queue = [];
  #hasInput = false;
  #isDone = false;
  #result;
  #checked;
  #lastId = 0;
  #waiting = new Map();
  #stop = [];

  phase = "loading"; // proxy, initializing, ready, closed, failed
  appInfo;
  usesFallback = false;

  constructor(options) {
    this.#options = { frame: undefined, timeout: 30000, fallbackAfter: 2000, ...options };
    const { frame, view, context } = this.#options;
    this.#frame = frame;
    this.#context = { displayMode: "inline", availableDisplayModes: ["inline"], ...context };
    this.#context.toolInfo ??= { tool: view.tool };
    const receive = (event) => this.#receive(event);
    addEventListener("message", receive);
    this.#stop.push(() => removeEventListener("message", receive));
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    frame.setAttribute("allow", view.allow);
    // Where *.localhost does not resolve, the frame loads an error page, which never reports ready.
    // A slow browser has not loaded anything yet.
    let timer;
    const tryFallback = () => {
      if (this.phase !== "loading") return;
      if (!view.fallbackURL || this.usesFallback) return this.#fail("the proxy page did not load");
      this.usesFallback = true;
      this.#load(view.fallbackURL);
      wait(this.#options.timeout);
    };
    const wait = (time) => {
      clearTimeout(timer);
      timer = setTimeout(tryFallback, time);
    };
    const loaded = () => wait(this.#options.fallbackAfter);
    frame.addEventListener("load", loaded);
    this.#stop.push(() => (clearTimeout(timer), frame.removeEventListener("load", loaded)));
    this.#load(view.proxyURL);
    wait(this.#options.timeout);
  }

  get context() {
    return this.#context;
  }

  // capabilities are those of the app: tools, availableDisplayModes, experimental.
  get capabilities() {
    return this.#declared;
  }

  // toolInput may be sent once, after any partial inputs. Later calls are an error.
  toolInput(args = {}) {
    if (this.#hasInput) throw new Error("the tool's input was sent before");
    this.#hasInput = true;
    this.#notifyLater("tool-input", { arguments: args });
    if (this.#result) this.#finish(...this.#result);
  }

  toolInputPartial(args = {}) {
    if (this.#hasInput) throw new Error("partial input must come before the tool's input");
    this.#notifyLater("tool-input-partial", { arguments: args });
  }

  // toolResult and toolCancelled wait for the input. One of them is sent, once.
  toolResult(result) {
    this.#finish("tool-result", result);
  }

  toolCancelled(reason) {
    this.#finish("tool-cancelled", reason === undefined ? {} : { reason });
  }

  // setContext sends the members that differ. An app that declares display modes cannot get
  // another one.
  setContext(changes) {
    const { displayMode } = changes;
    if (displayMode && displayMode !== this.#context.displayMode && !this.#canDisplay(displayMode)) {
      throw new Error(`the app does not support display mode ${displayMode}`);
    }
    const differ = ([name, value]) => JSON.stringify(value) !== JSON.stringify(this.#context[name]);
    const changed = Object.fromEntries(Object.entries(changes).filter(differ));
    if (!Object.keys(changed).length) return;
    Object.assign(this.#context, changed);
    // Before initialization, the answer to ui/initialize has the whole context.
    if (this.phase === "ready") this.notify(notification("host-context-changed"), changed);
    else if (this.phase === "initializing") this.#queue.push([notification("host-context-changed"), changed]);
  }

  // teardown asks the app to finish, and closes it after its answer or a second.
  async teardown(reason, timeout = 1000) {
    const params = reason === undefined ? {} : { reason };
    const answer = this.phase === "ready" ? this.request("ui/resource-teardown", params, timeout) : Promise.resolve({});
    const outcome = await answer.catch((error) => ({ error: error.message }));
    this.close();
    return outcome;
  }

  close() {
    if (this.phase === "closed") return;
    this.#setPhase("closed");
    this.#stop.splice(0).forEach((stop) => stop());
    this.#waiting.forEach(({ reject }) => reject(new Error("closed")));
    this.#frame.removeAttribute("src");
  }

  ping() {
    return this.request("ping");
  }

  // checkAccessibility runs axe-core in the document, and returns what it finds.
  checkAccessibility(timeout = this.#options.timeout) {
    if (!this.#options.view.checks) return Promise.reject(new Error("this host has no accessibility check"));
    if (this.usesFallback) return Promise.reject(new Error("not possible at the fallback address"));
    if (this.phase === "closed" || this.phase === "loading") return Promise.reject(new Error("the document is not open"));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no result within ${timeout} ms`)), timeout);
      this.#checked = ({ findings, error }) => {
        clearTimeout(timer);
        if (Array.isArray(findings)) resolve(findings.map((f) => plainFinding(f ?? {})));
        else reject(new Error(String(error)));
      };
      this.notify(notification("sandbox-check"));
    });
  }

  // listTools and callTool use the tools of the app itself.
  async listTools() {
    if (!this.#declared.tools) return { tools: [] };
    const result = await this.request("tools/list");
    if (!Array.isArray(result?.tools)) throw new Error("tools/list: the result has no list of tools");
    return result;
  }

  callTool(name, args = {}) {
    return this.request("tools/call", { name, arguments: args });
  }

  request(method, params = {}, timeout = this.#options.timeout) {
    return new Promise((resolve, reject) => {
      const id = "host-" + ++this.#lastId;
      const end = (settle) => (value) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        settle(value);
      };
      const timer = setTimeout(() => end(reject)(new Error(`${method}: no answer within ${timeout} ms`)), timeout);
      this.#waiting.set(id, { resolve: end(resolve), reject: end(reject) });
      this.#post({ id, method, params });
    });
  }

  notify(method, params = {}) {
    this.#post({ method, params });
  }

  #load(address) {
    this.#origin = new URL(address).origin;
    this.#frame.src = address;
  }

  #fail(text) {
    this.#setPhase("failed");
    this.onerror?.(new Error(text));
  }

  #setPhase(phase) {
    this.phase = phase;
    this.onphase?.(phase);
  }

  // An app that declares no modes may be shown in each of the host's.
  #canDisplay(mode) {
    const declared = this.#declared.availableDisplayModes;
    return (!Array.isArray(declared) || declared.includes(mode)) && this.#context.availableDisplayModes.includes(mode);
  }

  #notifyLater(name, params) {
    if (this.phase === "ready") this.notify(notification(name), params);
    else this.#queue.push([notification(name), params]);
  }

  #finish(name, params) {
    if (this.#isDone) throw new Error("the tool's result was sent before");
    if (!this.#hasInput) {
      this.#result = [name, params];
      return;
    }
    this.#isDone = true;
    this.#notifyLater(name, params);
  }

  #post(message) {
    if (this.phase === "closed") throw new Error("closed");
    message = { jsonrpc: "2.0", ...message };
    this.ontraffic?.({ direction: "out", time: performance.now(), message });
    this.#frame.contentWindow?.postMessage(message, this.#origin);
  }

  // Apps can post what is not JSON, such as cycles. Handlers get JSON, and params that are an object.
  #receive({ source, origin, data }) {
    if (source !== this.#frame.contentWindow || origin !== this.#origin || data?.jsonrpc !== "2.0") return;
    const message = plain(data);
    if (!message) return;
    this.ontraffic?.({ direction: "in", time: performance.now(), message });
    const { id, method } = message;
    if (typeof method !== "string") return this.#settle(message);
    const params = isObject(message.params) ? message.params : {};
    if (id === undefined || id === null) return this.#notified(method, params);
    this.#answer(method, params).then(
      (result) => this.phase !== "closed" && this.#post({ id, result: result ?? {} }),
      (error) => {
        if (this.phase === "closed") return;
        const { code = -32603, message: text = "internal error", data } = error ?? {};
        this.#post({ id, error: { code, message: text, ...(data !== undefined && { data }) } });
      },
    );
  }

  #settle({ id, result, error }) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    if (error) waiting.reject(Object.assign(new Error(error.message), error));
    else waiting.resolve(result);
  }

  #notified(method, params) {
    switch (method) {
      case notification("sandbox-proxy-ready"):
        return this.#proxyReady();
      case notification("sandbox-checked"):
        return this.#checked?.(params);
      case notification("initialized"):
        return this.#initialized();
      case notification("size-changed"):
        return this.onsizechanged?.(sizeIn(params));
      case notification("request-teardown"):
        return this.onrequestteardown?.(params);
      case "notifications/message":
        return this.onlog?.(params);
      case "notifications/tools/list_changed":
        return this.ontoolschanged?.();
      case "notifications/cancelled":
        return this.oncancelled?.(params);
    }
  }

  // The proxy page has the document and its policy already; the message tells it to go on.
  #proxyReady() {
    if (this.phase !== "loading") return;
    this.#setPhase("proxy");
    const { csp, permissions } = this.#options.view.grant;
    this.notify(notification("sandbox-resource-ready"), { html: "", csp, permissions });
  }

  #initialized() {
    if (this.phase !== "initializing") return;
    this.#setPhase("ready");
    this.#queue.splice(0).forEach(([method, params]) => this.notify(method, params));
  }

  async #answer(method, params) {
    if (method === "ui/initialize") return this.#initialize(params);
    if (method === "ping") return {};
    if (this.phase === "loading" || this.phase === "proxy") throw { code: -32600, message: "ui/initialize comes first" };
    if (serverMethods.has(method)) return this.#options.request(method, params);
    switch (method) {
      case "ui/open-link":
        return this.#openLink(params);
      case "ui/download-file":
        return this.#download(params);
      case "ui/message":
        return this.#message(params);
      case "ui/update-model-context":
        return this.#updateContext(params);
      case "ui/request-display-mode":
        return this.#requestDisplayMode(params);
    }
    throw { code: -32601, message: `${method}: unknown method` };
  }

  // Apps in use send other versions than ours, such as 0.3. They work the same way.
  #initialize({ appInfo, clientInfo, appCapabilities, capabilities }) {
    if (this.phase === "ready" || this.phase === "initializing") this.onreload?.();
    this.appInfo = appInfo ?? clientInfo;
    const declared = appCapabilities ?? capabilities;
    this.#declared = isObject(declared) ? declared : {};
    this.#setPhase("initializing");
    const { displayMode } = this.#context;
    if (!this.#canDisplay(displayMode)) {
      this.#context.displayMode = "inline";
      if (displayMode !== "inline") this.onerror?.(new Error(`the app does not support display mode ${displayMode}`));
    }
    const { view, hostInfo = { name: "slipway", version: "0" } } = this.#options;
    return {
      protocolVersion: "2026-01-26",
      hostInfo,
      hostCapabilities: this.#hostCapabilities(view),
      hostContext: this.#context,
    };
  }

  // A capability is declared only if its handler is set.
  #hostCapabilities(view) {
    const text = { text: {}, image: {}, audio: {}, resource: {}, resourceLink: {}, structuredContent: {} };
    return {
      serverTools: {},
      serverResources: {},
      logging: {},
      sandbox: { csp: view.grant.csp, permissions: view.grant.permissions },
      ...(this.onopenlink && { openLinks: {} }),
      ...(this.ondownload && { downloadFile: {} }),
      ...(this.onmessage && { message: text }),
      ...(this.onmodelcontext && { updateModelContext: text }),
      ...this.#options.capabilities,
    };
  }

  async #openLink({ url }) {
    let address;
    try {
      address = new URL(url);
    } catch {
      throw { code: -32602, message: "url is not an absolute address" };
    }
    if (address.protocol !== "https:" && address.protocol !== "http:") return { isError: true };
    return this.#ask(this.onopenlink, { url: address.href });
  }

  async #download({ contents }) {
    if (!Array.isArray(contents) || !contents.length) throw { code: -32602, message: "contents is not a list" };
    if (contents.length > 20) throw { code: -32602, message: "more than 20 files" };
    return this.#ask(this.ondownload, { contents: contents.map((item) => ({ ...item, fileName: fileName(item) })) });
  }

  // content is a list in ext-apps 2 and one block in the stable text.
  async #message({ role, content }) {
    const blocks = [content].flat().filter((block) => typeof block?.type === "string");
    if (!blocks.length) throw { code: -32602, message: "content has no block" };
    if (role !== "user") return { isError: true };
    return this.#ask(this.onmessage, { role, content: blocks });
  }

  async #updateContext({ content, structuredContent }) {
    const blocks = content === undefined ? undefined : [content].flat();
    return this.#ask(this.onmodelcontext, { content: blocks, structuredContent });
  }

  // A handler returns false to refuse.
  async #ask(handler, params) {
    if (!handler) return { isError: true };
    return (await handler(params)) === false ? { isError: true } : {};
  }

  async #requestDisplayMode({ mode }) {
    const before = this.#context.displayMode;
    if (!this.#canDisplay(mode)) return { mode: before };
    const set = (await this.ondisplaymode?.(mode)) ?? before;
    if (this.#canDisplay(set)) this.setContext({ displayMode: set });
    return { mode: this.#context.displayMode };
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// plain returns a message as it would cross a connection, or undefined if it could not.
function plain(message) {
  try {
    return JSON.parse(JSON.stringify(message));
  } catch {
    return undefined;
  }
}

// sizeIn returns the sizes in params that are numbers.
const sizeIn = ({ width, height }) => ({
  ...(Number.isFinite(width) && { width }),
  ...(Number.isFinite(height) && { height }),
});

// plainFinding makes text of what comes out of a document, which can deceive the check.
const plainFinding = ({ rule, impact, help, helpURL, count, nodes }) => ({
  rule: String(rule),
  impact: String(impact),
  help: String(help),
  helpURL: String(helpURL),
  count: Number(count) || 0,
  nodes: [nodes ?? []].flat().map((node) => ({ html: String(node?.html), target: String(node?.target) })),
});

// fileName returns a name without folders for an embedded resource or a link.
export function fileName(item) {
  const from = item.name ?? item.resource?.uri ?? item.uri ?? "";
  const last = from.split(/[?#]/)[0].split(/[/\\]/).filter(Boolean).pop() ?? "";
  return last.replace(/[\u0000-\u001f\u007f<>:"|*]/g, "_").replace(/^\.+/, "").slice(0, 100) || "download";
}

// partialInputs returns the steps in which a model would write args: the members one after
// the other, and long strings in pieces.
export function partialInputs(args, steps = 8) {
  const partial = {};
  const all = [{}];
  for (const [name, value] of Object.entries(args)) {
    if (typeof value === "string" && value.length > steps) {
      for (let i = 1; i < steps; i++) all.push({ ...partial, [name]: value.slice(0, Math.ceil((value.length * i) / steps)) });
    }
    partial[name] = value;
    all.push({ ...partial });
  }
  return all;
}

// styleVariables returns the variables of HostControls for a theme.
export function styleVariables(controls, theme) {
  const of = ([name, value]) => [name, Array.isArray(value) ? value[theme === "dark" ? 1 : 0] : value];
  return Object.fromEntries(Object.entries(controls.variables).map(of));
}
