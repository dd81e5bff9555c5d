// Which Markdown files of the repository are pages of the site, and under which address.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { branch, repository, root } from './site.ts'

// Files outside of docs that are pages, too.
const extra: Record<string, string> = {
  'website/index.md': 'index.md',
  'ARCHITECTURE.md': 'architecture.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md'
}

function markdownBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return markdownBelow(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** docs lists the pages in docs, relative to the repository. */
export const docs = markdownBelow('docs').sort()

/** rewrites maps each source file to its path on the site. */
export const rewrites: Record<string, string> = {
  ...extra,
  ...Object.fromEntries(docs.map((path) => [path, path.replace(/README\.md$/, 'index.md')]))
}

/** excluded lists the top-level files and folders that hold no pages. */
export const excluded = readdirSync(root)
  .filter((entry) => entry !== 'docs' && entry !== 'website' && !rewrites[entry])
  .map((entry) => (statSync(join(root, entry)).isDirectory() ? `${entry}/**` : entry))
  .concat('website/node_modules/**', 'website/.vitepress/**', 'website/README.md')

/** address returns the site's address of a source file, or undefined if it is not a page. */
export function address(path: string): string | undefined {
  if (path === 'changelog/README.md') return '/changelog/unreleased'
  const unreleased = /^changelog\/(?:unreleased|[^/]+)\/([^/]+)\.md$/.exec(path)
  if (unreleased) return `/changelog/${posix.basename(posix.dirname(path))}#${unreleased[1]}`
  const target = rewrites[path]
  if (!target) return undefined
  return '/' + target.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')
}

/** resolveLink turns a link of a source file into one that works on the site: to a page of the
 * site, or to the file in the repository. It throws if the link's target does not exist. */
export function resolveLink(source: string, href: string): string {
  if (/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(href)) return href
  const [, path, fragment] = /^([^#]*)(#.*)?$/.exec(href)!
  if (path.startsWith('/')) return href
  const target = posix.join(posix.dirname(source), decodeURI(path)).replace(/\/$/, '')
  if (target.startsWith('..') || !existsSync(join(root, target))) {
    throw new Error(`${source}: link to ${href}, which does not exist`)
  }
  const folder = statSync(join(root, target)).isDirectory()
  const page = address(folder ? posix.join(target, 'README.md') : target)
  if (page) return page + (page.includes('#') ? '' : fragment ?? '')
  return `${repository}/${folder ? 'tree' : 'blob'}/${branch}/${encodeURI(target)}${fragment ?? ''}`
}

/** text reads a file of the repository. */
export const text = (path: string): string => readFileSync(resolve(root, path), 'utf8')

/** title returns the first heading of a page. */
export function title(path: string): string {
  const heading = /^# (.+)$/m.exec(text(path))
  if (!heading) throw new Error(`${path}: no title`)
  return heading[1].replaceAll('`', '')
}

/** links lists the links of Markdown text, as text and target. */
export function links(markdown: string): { text: string; href: string }[] {
  return [...markdown.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].map((m) => ({ text: m[1], href: m[2] }))
}

export { dirname, posix }
