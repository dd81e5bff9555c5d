// A server that writes down how it was started or asked: argv, folder and
// environment over stdio, header over HTTP. It answers the handshake and has one
// tool. Another path than /mcp is never answered: it stands for a model.
//
//   node probe.mjs stdio FILE [ARG...]
//   node probe.mjs http FILE       prints its URL
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [mode, file, ...args] = process.argv.slice(2);
const note = (what) => appendFileSync(file, JSON.stringify(what) + "\n");

function answer(message) {
  if (message.id === undefined) return undefined;
  const reply = (result) => ({ jsonrpc: "2.0", id: message.id, result });
  switch (message.method) {
    case "initialize":
      return reply({ protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "probe", version: "1.0.0" } });
    case "tools/list":
      return reply({ tools: [{ name: "probe", description: "Does nothing", inputSchema: { type: "object" } }] });
    case "ping":
      return reply({});
  }
  return { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "method not found" } };
}

if (mode === "stdio") {
  note({ args, cwd: process.cwd(), env: process.env });
  createInterface({ input: process.stdin }).on("line", (line) => {
    const reply = answer(JSON.parse(line));
    if (reply) process.stdout.write(JSON.stringify(reply) + "\n");
  });
} else {
  const server = createServer((request, response) => {
    if (!request.url.startsWith("/mcp")) return; // a model that never answers
    note({ method: request.method, path: request.url, headers: request.headers });
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    request.on("data", (chunk) => (body += chunk)).on("end", () => {
      const reply = answer(JSON.parse(body));
      if (!reply) return response.writeHead(202).end();
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}
