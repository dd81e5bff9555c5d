// Checks every link of the finished site: pages, files and anchors exist, and links to other
// hosts are well-formed. A link to the repository must name a file that exists in it.
//
// usage: node links.mjs SITE
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { base, website } from './browser.mjs'

const site = process.argv[2]
const { repository, branch } = JSON.parse(readFileSync(join(website, 'site.json')))
const origin = 'https://site.invalid'
const problems = []
const decode = (text) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")

function pages(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'mcp' && folder === site ? [] : pages(path)
    return entry.name.endsWith('.html') ? [path] : []
  })
}

const anchors = new Map()
function anchorsOf(file) {
  if (!anchors.has(file)) {
    const html = readFileSync(file, 'utf8')
    anchors.set(file, new Set([...html.matchAll(/\sid="([^"]*)"/g)].map((m) => decode(m[1]))))
  }
  return anchors.get(file)
}

function check(page, href) {
  let url
  try {
    const path = relative(site, page).replace(/\.html$/, '').replace(/(^|\/)index$/, '$1')
    url = new URL(href, origin + base + path)
  } catch {
    return 'is not a URL'
  }
  if (url.origin !== origin) {
    if (!/^(https?|mailto):$/.test(url.protocol)) return `has the scheme ${url.protocol}`
    const inRepository = url.href.startsWith(`${repository}/`) && /^(?:blob|tree|edit)\/(\w+)\/([^#]*)/.exec(url.href.slice(repository.length + 1))
    if (!inRepository) return undefined
    const file = join(dirname(website), decodeURI(inRepository[2]))
    return inRepository[1] === branch && existsSync(file) ? undefined : 'is not in the repository'
  }
  if (!url.pathname.startsWith(base)) return 'is outside of the site'
  const target = join(site, decodeURIComponent(url.pathname.slice(base.length)))
  const file = [target, `${target}.html`, join(target, 'index.html')].find((f) => existsSync(f) && statSync(f).isFile())
  if (!file) return 'does not exist'
  const fragment = decodeURIComponent(url.hash.slice(1))
  if (fragment && file.endsWith('.html') && !anchorsOf(file).has(fragment)) return 'has no such heading'
}

let links = 0
const all = pages(site)
for (const page of all) {
  const html = readFileSync(page, 'utf8')
  if (/ style="/.test(html)) problems.push(`${relative(site, page)}: a style attribute, which the policy forbids`)
  for (const [, , href] of html.matchAll(/\s(href|src)="([^"]*)"/g)) {
    links++
    const problem = check(page, decode(href))
    if (problem) problems.push(`${relative(site, page)}: ${decode(href)} ${problem}`)
  }
}
console.log(`${all.length} pages, ${links} links`)
for (const problem of [...new Set(problems)].slice(0, 40)) console.log(`  ${problem}`)
process.exit(problems.length ? 1 : 0)
