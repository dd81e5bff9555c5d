// AWS Lambda with a function URL, behind the CloudFront behaviour for the endpoint.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const packagedFiles = async (path) => {
  try {
    return await readFile(join(import.meta.dirname, CONFIG.folder, path));
  } catch (e) {
    if (e.code === 'ENOENT' || e.code === 'ENOTDIR' || e.code === 'EISDIR') return undefined;
    throw e;
  }
};
const lambdaEndpoint = endpointOf(packagedFiles, {});
