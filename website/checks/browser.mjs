// The browser and the web server of the checks. The server answers like GitHub Pages: /page is
// page.html, and what does not exist is 404.html with status 404.
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

export const website = dirname(dirname(fileURLToPath(import.meta.url)))
export const base = new URL(process.env.SLIPWAY_SITE_URL || JSON.parse(readFileSync(join(website, 'site.json'))).url).pathname

const types = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml'
}

/** chromiumPath is the browser of the system. */
export const chromiumPath =
  process.env.CHROMIUM || ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

export const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** launch starts the browser. */
export function launch() {
  if (!chromiumPath) throw new Error('no Chromium: install it, or name it in the variable CHROMIUM')
  return chromium.launch({ executablePath: chromiumPath, args: flags })
}

/** serve serves the site's folder below its base on a free port, and returns the address. */
export async function serve(folder) {
  const find = (path) => {
    const file = normalize(join(folder, decodeURIComponent(path)))
    if (!file.startsWith(folder)) return undefined
    return [file, `${file}.html`, join(file, 'index.html')].find((f) => existsSync(f) && statSync(f).isFile())
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const found = pathname.startsWith(base) ? find(pathname.slice(base.length - 1)) : undefined
    const file = found ?? join(folder, '404.html')
    response.writeHead(found ? 200 : 404, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}${base}`, close: () => server.close() }
}
