// A Netlify Edge Function.

export default (request) => remoteEndpoint(request);

export const config = { path: CONFIG.path };
