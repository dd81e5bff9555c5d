// A host that consists of the official AppBridge and client, and does what the official
// basic-host does with them: call the tool, read its user interface, open the proxy at another
// origin with the declared policy, and send input and result once the app is initialized. It
// offers what tests need under the names that our own host has.
import {
  AppBridge,
  PostMessageTransport,
  buildAllowAttribute,
  getToolUiResourceUri,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const settings = await (await fetch("settings")).json();
const frame = document.getElementById("app");
const messages = (globalThis.messages = []);

// show resolves once the app has the result.
async function show() {
  const client = new Client({ name: "bridge", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(settings.server)));
  const { tools } = await client.listTools();
  const tool = tools.find(({ name }) => name === settings.tool);
  const result = client.callTool({ name: tool.name, arguments: settings.arguments });
  result.catch(() => {}); // it is awaited below
  const uri = getToolUiResourceUri(tool);
  const [content] = (await client.readResource({ uri })).contents;
  const { resources } = await client.listResources();
  const { csp, permissions } = content._meta?.ui ?? resources.find((r) => r.uri === uri)?._meta?.ui ?? {};

  await openProxy(csp, permissions);
  const context = { ...settings.context, displayMode: "inline" };
  const { tools: serverTools, resources: serverResources } = client.getServerCapabilities();
  const bridge = new AppBridge(
    client,
    { name: "bridge", version: "1" },
    { openLinks: {}, serverTools, serverResources, updateModelContext: { text: {} } },
    { hostContext: context },
  );
  bridge.onmessage = bridge.onopenlink = bridge.onupdatemodelcontext = async () => ({});
  bridge.onloggingmessage = bridge.onsizechange = () => {};
  bridge.onrequestdisplaymode = async ({ mode }) => {
    context.displayMode = mode;
    bridge.sendHostContextChange({ displayMode: mode });
    return { mode };
  };
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(recorded(new PostMessageTransport(frame.contentWindow, frame.contentWindow)));
  await bridge.sendSandboxResourceReady({ html: content.text, csp, permissions });
  globalThis.host = {
    context,
    callTool: (name, args) => bridge.callTool({ name, arguments: args }),
    listTools: () => bridge.listTools({}),
  };
  globalThis.phase = "proxy";
  await initialized;
  bridge.sendToolInput({ arguments: settings.arguments });
  await bridge.sendToolResult(await result);
  globalThis.phase = "sent";
}

// openProxy loads the frame around the app, whose server turns csp into its policy.
function openProxy(csp, permissions) {
  frame.allow = buildAllowAttribute(permissions);
  const address = new URL(settings.proxy);
  address.searchParams.set("csp", JSON.stringify(csp ?? {}));
  address.searchParams.set("allow", frame.allow);
  return new Promise((resolve) => {
    addEventListener("message", ({ source, data }) => {
      if (source === frame.contentWindow && data?.method === "ui/notifications/sandbox-proxy-ready") resolve();
    });
    frame.src = address;
  });
}

// recorded returns a transport whose messages are kept.
function recorded(transport) {
  const { send } = transport;
  transport.send = (message, options) => {
    messages.push({ direction: "out", message });
    return send.call(transport, message, options);
  };
  let receive;
  Object.defineProperty(transport, "onmessage", {
    get: () => receive,
    set: (handler) =>
      (receive = (message, extra) => {
        messages.push({ direction: "in", message });
        handler(message, extra);
      }),
  });
  return transport;
}

show().catch((error) => (globalThis.failure = String(error?.stack ?? error)));
