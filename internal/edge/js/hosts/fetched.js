// Files that are fetched.

/** Returns a reader of the files below a base URL. get is fetch, or a function like it. */
function fetchedFiles(get, base) {
  return async (path) => {
    const response = await get(base + path.split('/').map(encodeURIComponent).join('/'));
    if (response.ok) {
      const bytes = await readAtMost(response, LIMITS.file);
      if (bytes) return bytes;
      throw new RPCError(CODES.internal, `the site has a file of more than ${LIMITS.file} bytes`, '{"kind":"unavailable"}');
    }
    await response.body?.cancel();
    if (response.status === 404 || response.status === 403 || response.status === 410) return undefined;
    throw new RPCError(CODES.internal, `the site answered with status ${response.status}`, '{"kind":"unavailable","retryable":true}');
  };
}

/** Returns the endpoint of a site whose files read returns. */
function endpointOf(read, options, hosts = CONFIG.hosts, local = false) {
  const files = new Files(read, options);
  return createEndpoint({ files, page: (request) => connectPage(files, request), hosts, local });
}
