/*
 * McpApp speaks to the host that shows this document: MCP Apps 2026-01-26.
 *
 *   const app = new McpApp({ appInfo: { name: "board", version: "1.0.0" } });
 *   app.ontoolresult = (result) => draw(result.structuredContent);
 *   await app.connect();
 *   const fresh = await app.callServerTool("get_weather", { city: "Lyon" });
 *
 * Options: appInfo; timeout, in ms for an answer (60000; 0 for none); autoResize
 * (true: report the size of the document); autoStyle (true: take over theme,
 * variables and fonts of the host); debug (log all messages).
 *
 * Handlers, to be set before connect: ontoolinput(arguments), ontoolresult(result),
 * ontoolinputpartial(arguments), ontoolcancelled(reason), onteardown(reason), which
 * may return a promise, and onhostcontextchanged(changes). The second argument is
 * the whole params, which is what listeners of the same events get.
 *
 * Methods take their arguments one by one or as one object of params, and then
 * { timeout, signal }. Their promises reject with the host's message, code, data.
 */
globalThis.McpApp = class McpApp {
  #options;
  #capabilities = {};
  #lastId = 0;
  #waiting = new Map();
  #listeners = {};
  #tools = new Map();
  #origin;
  #stop = [];
  #fonts;

  hostInfo;
  hostCapabilities = {};
  hostContext = {};

  constructor(options) {
    const appInfo = { name: document.title || "app", version: "0" };
    this.#options = { appInfo, timeout: 60000, autoResize: true, autoStyle: true, ...options };
  }

  // connect greets the host and returns its answer.
  async connect(capabilities = {}) {
    if (parent === window) throw new Error("no host: this document is not in a frame");
    if (this.#stop.length) throw new Error("already connected");
    this.#origin = "*";
    const receive = (event) => this.#receive(event);
    addEventListener("message", receive);
    this.#stop.push(() => removeEventListener("message", receive));
    this.#capabilities = { ...(this.#tools.size && { tools: { listChanged: true } }), ...capabilities };
    try {
      const host = await this.request("ui/initialize", {
        protocolVersion: "2026-01-26",
        appInfo: this.#options.appInfo,
        appCapabilities: this.#capabilities,
      });
      this.hostInfo = host.hostInfo;
      this.hostCapabilities = host.hostCapabilities ?? {};
      this.#takeOver(host.hostContext ?? {});
      this.notify("ui/notifications/initialized");
      if (this.#options.autoResize) this.#watchSize();
      return host;
    } catch (error) {
      this.disconnect();
      throw error;
    }
  }

  // disconnect ends everything; whatever waits for an answer is rejected.
  disconnect() {
    this.#stop.splice(0).forEach((stop) => stop());
    this.#waiting.forEach((waiting) => waiting.reject(new Error("disconnected")));
  }

  callServerTool(...given) {
    return this.#call("tools/call", given, "name", "arguments");
  }
  readServerResource(...given) {
    return this.#call("resources/read", given, "uri");
  }
  listServerResources(...given) {
    return this.#call("resources/list", given, "cursor");
  }
  // sendMessage(role, content) puts a message of the user's, "user", into the conversation.
  sendMessage(...given) {
    return this.#call("ui/message", given, "role", "content");
  }
  // updateModelContext(content, structuredContent) says what the model is to know
  // next time. Each call replaces the one before.
  updateModelContext(...given) {
    return this.#call("ui/update-model-context", given, "content", "structuredContent");
  }
  openLink(...given) {
    return this.#call("ui/open-link", given, "url");
  }
  downloadFile(...given) {
    return this.#call("ui/download-file", given, "contents");
  }
  // requestDisplayMode asks for "inline", "fullscreen" or "pip", which connect must
  // have declared in availableDisplayModes. The answer has the mode that it is now.
  requestDisplayMode(...given) {
    return this.#call("ui/request-display-mode", given, "mode");
  }
  requestTeardown() {
    this.notify("ui/notifications/request-teardown");
  }
  reportSizeChanged(width, height) {
    this.notify("ui/notifications/size-changed", { width, height });
  }
  sendLog(level, data, logger) {
    this.notify("notifications/message", { level, data, logger });
  }

  // registerTool offers the host a tool of this document, from before connect on.
  // handler(arguments) returns text, data or a whole result, or a promise of it.
  registerTool(name, definition, handler) {
    const changed = () => this.#capabilities.tools && this.notify("notifications/tools/list_changed");
    this.#tools.set(name, { handler, definition: { inputSchema: { type: "object" }, ...definition, name } });
    changed();
    return { remove: () => this.#tools.delete(name) && changed() };
  }

  addEventListener(event, listener) {
    (this.#listeners[event] ??= new Set()).add(listener);
  }
  removeEventListener(event, listener) {
    this.#listeners[event]?.delete(listener);
  }

  // request and notify send anything else.
  request(method, params = {}, { timeout = this.#options.timeout, signal } = {}) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++this.#lastId;
      this.#send({ id, method, params });
      const end = (settle) => (value) => {
        this.#waiting.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        settle(value);
      };
      const cancel = (error) => {
        if (method !== "ui/initialize") this.notify("notifications/cancelled", { requestId: id, reason: String(error) });
        end(reject)(error);
      };
      const abort = () => cancel(signal.reason);
      const late = () => cancel(new Error(`${method}: no answer within ${timeout} ms`));
      const timer = timeout && setTimeout(late, timeout);
      signal?.addEventListener("abort", abort);
      this.#waiting.set(id, { resolve: end(resolve), reject: end(reject) });
    });
  }
  notify(method, params = {}) {
    this.#send({ method, params });
  }

  #call(method, given, ...names) {
    const [first] = given;
    const named = first?.constructor === Object && names.some((name) => name in first);
    const params = named ? { ...first } : {};
    if (!named) names.forEach((name, i) => given[i] == null || (params[name] = given[i]));
    if (params.content) params.content = McpApp.#blocks(params.content);
    if (params.contents) params.contents = [params.contents].flat();
    return this.request(method, params, given[named ? 1 : names.length]);
  }

  static #blocks(content) {
    return [content].flat().map((block) => (block.type ? block : { type: "text", text: String(block) }));
  }

  #send(message) {
    if (!this.#stop.length) throw new Error("not connected");
    this.#post(message);
  }

  #post(message) {
    message = { jsonrpc: "2.0", ...message };
    if (this.#options.debug) console.debug("McpApp >", message);
    parent.postMessage(message, this.#origin);
  }

  #receive({ source, origin, data: message }) {
    if (source !== parent || message?.jsonrpc !== "2.0") return;
    if (this.#origin !== "*" && origin !== this.#origin) return;
    if (this.#options.debug) console.debug("McpApp <", message);
    const { id, method, params = {} } = message;
    if (!method) this.#settle(message, origin);
    else if (id == null) this.#notified(method, params);
    else
      this.#answer(method, params).then(
        (result) => this.#post({ id, result }),
        ({ code = -32603, message }) => this.#post({ id, error: { code, message } }),
      );
  }

  #settle({ id, result, error }, origin) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    // The first answer tells who the host is. An origin called "null" cannot be addressed.
    if (origin !== "null") this.#origin = origin;
    if (error) waiting.reject(Object.assign(new Error(error.message), error));
    else waiting.resolve(result);
  }

  #notified(method, params) {
    const event = method.startsWith("ui/notifications/") ? method.slice(17).replaceAll("-", "") : method;
    if (event === "hostcontextchanged") this.#takeOver(params);
    const first = event.startsWith("toolinput") ? (params.arguments ?? {}) : event === "toolcancelled" ? params.reason : params;
    this["on" + event]?.(first, params);
    this.#listeners[event]?.forEach((listener) => listener(params));
  }

  async #answer(method, params) {
    if (method === "ping") return {};
    if (method === "ui/resource-teardown") {
      this.#listeners.teardown?.forEach((listener) => listener(params));
      return (await this.onteardown?.(params.reason, params)) ?? {};
    }
    if (method === "tools/list") return { tools: [...this.#tools.values()].map((tool) => tool.definition) };
    if (method !== "tools/call") throw { code: -32601, message: `${method}: not known here` };
    const tool = this.#tools.get(params.name);
    if (!tool) throw { code: -32602, message: `no tool ${params.name}` };
    try {
      const result = await tool.handler(params.arguments ?? {}, params);
      if (result?.content) return result;
      if (result?.constructor !== Object) return { content: McpApp.#blocks(result ?? "") };
      return { content: McpApp.#blocks(JSON.stringify(result)), structuredContent: result };
    } catch (error) {
      return { content: McpApp.#blocks(error.message ?? error), isError: true };
    }
  }

  #takeOver(context) {
    Object.assign(this.hostContext, context);
    if (!this.#options.autoStyle) return;
    const { theme, styles } = context;
    const { dataset, style } = document.documentElement;
    if (theme) style.colorScheme = dataset.theme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) if (value) style.setProperty(name, value);
    if (styles?.css?.fonts) {
      this.#fonts ??= document.head.appendChild(document.createElement("style"));
      this.#fonts.textContent = styles.css.fonts;
    }
  }

  // The height is that of the content, however high the frame is now.
  #watchSize() {
    const { style } = document.documentElement;
    let last, due;
    const measure = () => {
      due = 0;
      const before = style.height;
      style.height = "max-content";
      const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
      style.height = before;
      const size = innerWidth + "x" + height;
      if (size !== last) this.reportSizeChanged(innerWidth, height);
      last = size;
    };
    const observer = new ResizeObserver(() => (due ||= requestAnimationFrame(measure)));
    observer.observe(document.documentElement);
    if (document.body) observer.observe(document.body);
    this.#stop.push(() => (observer.disconnect(), cancelAnimationFrame(due)));
    measure();
  }
};
