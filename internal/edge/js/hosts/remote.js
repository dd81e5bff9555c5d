// The site is at another address, where it can change at any time.

const remoteFiles = fetchedFiles((url) => fetch(url, { redirect: 'follow' }), CONFIG.site);
const remoteEndpoint = endpointOf(remoteFiles, { seconds: 60, checksums: true });
