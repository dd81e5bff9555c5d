// Holds what a probe wrote down to what the definitions say.
//
//   node check.mjs STDIO-FILE HTTP-FILE FOLDER
import { readFileSync } from "node:fs";

const [stdio, http, folder] = process.argv.slice(2);
const first = (file, want) => readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)).find(want) ?? {};
const faults = [];
const want = (what, got, expected) => {
  if (JSON.stringify(got) !== JSON.stringify(expected)) faults.push(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(expected)}`);
};

const started = first(stdio, () => true);
want("argv", started.args, ["a b", "it's", 'C:\\temp "x"', "--flag=1"]);
want("MODE", started.env?.MODE, "fast");
want("PROBE_TOKEN", started.env?.PROBE_TOKEN, "the-token");
if (folder) want("the folder", started.cwd, folder);
const asked = first(http, (r) => r.method === "POST");
want("Authorization", asked.headers?.authorization, "Bearer the-api-token");
want("x-team", asked.headers?.["x-team"], "platform");

if (faults.length) {
  console.log(faults.join("; "));
  process.exit(1);
}
