// A Vercel Function in Node.js. vercel.json includes the files of the site in it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const includedFiles = async (path) => {
  try {
    return await readFile(join(process.cwd(), CONFIG.folder, path));
  } catch (e) {
    if (e.code === 'ENOENT' || e.code === 'ENOTDIR' || e.code === 'EISDIR') return undefined;
    throw e;
  }
};
const handleRequest = endpointOf(includedFiles, {});

export const GET = handleRequest;
export const POST = handleRequest;
export const DELETE = handleRequest;
export const OPTIONS = handleRequest;
