function ownAddress() {
  return process.argv[3] ?? process.env.ADDRESS ?? '127.0.0.1';
}

const loopback = ['127.0.0.1', 'localhost', '[::1]', '::1'];

/** Returns the public host names of the server, or undefined. */
function publicHosts() {
  return process.env.HOSTS?.toLowerCase().split(/[\s,]+/).filter(Boolean) ?? CONFIG.hosts;
}

/** Reports whether only this machine can use the server, as no public name leads to it. */
function isLocal() {
  return publicHosts() === undefined && loopback.includes(ownAddress());
}

/** Returns the names that requests may use: on loopback only those of loopback, which stops rebound DNS names. */
function ownHosts() {
  return isLocal() ? loopback : publicHosts();
}

/** Serves the endpoint, and everything else with others. */
function listenOn(endpoint, others) {
  const server = createServer(async (incoming, outgoing) => {
    try {
      const request = toRequest(incoming);
      const response = await answerTo(request, endpoint, others);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(Buffer.from(await response.arrayBuffer()));
    } catch (e) {
      console.error(e);
      outgoing.writeHead(outgoing.headersSent ? 0 : 400);
      outgoing.end();
    }
  });
  server.requestTimeout = 30_000;
  const wanted = { host: ownAddress(), port: portOf(process.argv[2] ?? process.env.PORT ?? '8080') };
  server.on('error', (e) => refusePort(wanted, e.code === 'EADDRINUSE', e));
  server.listen(wanted, () => {
    const { address, port } = server.address();
    console.log(`http://${address.includes(':') ? `[${address}]` : address}:${port}${CONFIG.path}`);
  });
}

function answerTo(request, endpoint, others) {
  if (new URL(request.url).pathname === CONFIG.path) return endpoint(request);
  const foreign = isLocal() && whyForeign(request, ownHosts(), true);
  return foreign ? new Response(`${foreign}\n`, { status: 403 }) : others(request);
}

function toRequest(incoming) {
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) headers.append(incoming.rawHeaders[i], incoming.rawHeaders[i + 1]);
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
  const url = new URL(`http://${incoming.headers.host ?? 'localhost'}${incoming.url}`);
  return new Request(url, { method: incoming.method, headers, ...(hasBody && { body: Readable.toWeb(incoming), duplex: 'half' }) });
}
