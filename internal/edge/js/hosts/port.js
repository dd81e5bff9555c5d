/** Prints one line to stderr and exits: for settings with which the server cannot start. */
function refuse(message) {
  console.error(`mcp-server: ${message}`);
  (globalThis.Deno ?? process).exit(1);
}

/** Returns the port that a text names. */
function portOf(text) {
  if (!/^[0-9]+$/.test(text) || Number(text) > 65535) refuse(`the port ${JSON.stringify(text)} is not a number from 0 to 65535`);
  return Number(text);
}

/** Refuses to start without the port. */
function refusePort({ host, port }, inUse, e) {
  refuse(`cannot listen on port ${port} of ${host}: ${inUse ? 'the port is in use' : e.message}`);
}
