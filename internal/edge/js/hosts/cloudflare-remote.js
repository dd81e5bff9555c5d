// A Worker without assets.

export default {
  fetch: (request) =>
    new URL(request.url).pathname === CONFIG.path ? remoteEndpoint(request) : new Response('Not found\n', { status: 404 }),
};
