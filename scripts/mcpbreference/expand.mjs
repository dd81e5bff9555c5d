// Asks the reference which command line it makes of the cases in the JSON file
// that is named, and prints what it says as one JSON array.
import { readFileSync } from "node:fs";
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb/node";

const print = console.log;
console.log = console.warn = console.error = () => {};
const systemDirs = { HOME: "/home/u", DESKTOP: "/home/u/Desktop", DOCUMENTS: "/home/u/Documents", DOWNLOADS: "/home/u/Downloads" };
const answers = [];
for (const { manifest, values } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const config = await getMcpConfigForManifest({ manifest, extensionPath: "/bundle", systemDirs, userConfig: values, pathSeparator: "/" });
  answers.push({ command: config.command, args: config.args ?? [], env: config.env ?? {} });
}
print(JSON.stringify(answers));
