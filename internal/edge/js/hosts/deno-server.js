/** Serves the endpoint, and everything else with others. */
function listenOn(endpoint, others) {
  const port = portOf(Deno.args[0] ?? '8000');
  try {
    Deno.serve({ port }, (request) => (new URL(request.url).pathname === CONFIG.path ? endpoint(request) : others(request)));
  } catch (e) {
    refusePort({ host: '0.0.0.0', port }, e instanceof Deno.errors.AddrInUse, e);
  }
}
