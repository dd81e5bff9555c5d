// A program for Deno and Deno Deploy.

Deno.serve({ port: Number(Deno.args[0] ?? 8000) }, (request) =>
  new URL(request.url).pathname === CONFIG.path ? remoteEndpoint(request) : new Response('Not found\n', { status: 404 }));
