// Makes a script or a compressed file smaller than the bundler does. Reads one from stdin, writes it to stdout.
//
// usage: node smaller.mjs script|gzip
//
// The options give the same bytes on every machine; the packages are pinned by package-lock.json.
import { gzip } from '@gfx/zopfli'
import { minify } from 'terser'

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const input = Buffer.concat(chunks)

const verbs = {
  // The second of two minifiers joins and inlines what the first, which bundles, leaves.
  script: async () =>
    (await minify(input.toString(), { module: true, ecma: 2020, compress: { passes: 2, sequences: false }, mangle: true })).code,
  // Any program can unpack it. 15 rounds are the default: 50 save 20 bytes more.
  gzip: () => new Promise((resolve, reject) => gzip(input, { numiterations: 15 }, (error, out) => (error ? reject(error) : resolve(out)))),
}
process.stdout.write(await verbs[process.argv[2]]())
