// A program for Deno and Deno Deploy.
// Usage: deno run --allow-net mcp.js [PORT]

listenOn(remoteEndpoint, () => new Response('Not found\n', { status: 404 }));
