// Files that are fetched.

/** Returns a reader of the files below a base URL. get is fetch, or a function like it. */
function fetchedFiles(get, base) {
  return async (path) => {
    const response = await get(base + path.split('/').map(encodeURIComponent).join('/'));
    if (response.ok && !(Number(response.headers.get('content-length')) > LIMITS.file)) {
      return new Uint8Array(await response.arrayBuffer());
    }
    await response.body?.cancel();
    if (response.status === 404 || response.status === 403 || response.status === 410) return undefined;
    throw new RPCError(CODES.internal, `the site answered with status ${response.status}`, '{"kind":"unavailable","retryable":true}');
  };
}

/** Returns the endpoint of a site whose files read returns. */
function endpointOf(read, options, hosts = CONFIG.hosts) {
  const files = new Files(read, options);
  return createEndpoint({ files, page: (request) => connectPage(files, request), hosts });
}
