// A Netlify Edge Function. It fetches the files of its own site.

let ownEndpoint;

export default (request) => {
  const base = new URL(CONFIG.site, new URL(request.url).origin).href;
  ownEndpoint ??= endpointOf(fetchedFiles((url) => fetch(url), base), { seconds: 60, checksums: true });
  return ownEndpoint(request);
};

export const config = { path: CONFIG.path };
