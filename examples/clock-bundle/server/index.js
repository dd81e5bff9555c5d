// An MCP server without dependencies, on stdin and stdout: one tool that tells
// the time. It is here to be packed; a real one would use an SDK.
const readline = require("node:readline");

const zone = process.env.CLOCK_ZONE || "UTC";

const tool = {
  name: "now",
  description: "The time now, in the zone that is asked for or the one that is set",
  inputSchema: { type: "object", properties: { zone: { type: "string", description: "such as Europe/Berlin" } } },
  annotations: { readOnlyHint: true },
};

function now(args) {
  try {
    const text = new Date().toLocaleString("en-GB", { timeZone: args.zone || zone, timeZoneName: "short" });
    return { content: [{ type: "text", text }] };
  } catch (e) {
    return { content: [{ type: "text", text: e.message }], isError: true };
  }
}

const methods = {
  initialize: (p) => ({
    protocolVersion: p.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "clock", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (p) => (p.name === tool.name ? now(p.arguments || {}) : undefined),
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = methods[method]?.(params || {});
  const answer = result ? { result } : { error: { code: -32601, message: `${method} is not there` } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\n");
});
