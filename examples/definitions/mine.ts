import { defineMcp } from "stax";

const npx = (name: string) => ({ command: "npx", args: ["-y", `@modelcontextprotocol/server-${name}`] });

export default defineMcp({
  servers: {
    memory: npx("memory"),
    files: { ...npx("filesystem"), cwd: "/workspace" },
  },
  secrets: [{ key: "GITHUB_TOKEN", kind: "token" }],
});
