// A Vercel Function in Node.js.

export const GET = remoteEndpoint;
export const POST = remoteEndpoint;
export const DELETE = remoteEndpoint;
export const OPTIONS = remoteEndpoint;
