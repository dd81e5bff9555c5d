// Asks the reference CLI's own function about the manifests in DIR/0, DIR/1, ...
// and prints the answers as one JSON array of booleans.
import { join } from "node:path";
import { validateManifest } from "@anthropic-ai/mcpb/node";

const [dir, count] = process.argv.slice(2);
const print = console.log;
console.log = console.error = () => {}; // what it would tell a person
const answers = [];
for (let i = 0; i < Number(count); i++) answers.push(validateManifest(join(dir, String(i))) === true);
print(JSON.stringify(answers));
