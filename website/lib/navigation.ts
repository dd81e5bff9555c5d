// The sidebars. docs/README.md, with one table per group, is their only source: a page that it
// does not list fails the build.
import type { DefaultTheme } from 'vitepress'
import { address, docs, links, posix, text, title } from './pages.ts'

type Group = { name: string; entries: { text: string; path: string }[] }

const capitalize = (s: string) => s[0].toUpperCase() + s.slice(1)

/** groups reads the tables of docs/README.md: the head names the group, the links are its pages. */
function groups(): Group[] {
  return text('docs/README.md')
    .split(/\n\n+/)
    .filter((block) => block.startsWith('| '))
    .map((table) => {
      const [head, , ...rows] = table.split('\n')
      return {
        name: capitalize(head.split('|')[1].trim()),
        entries: rows.flatMap(links).map(({ text, href }) => ({
          text,
          path: posix.join('docs', href.replace(/#.*/, ''))
        }))
      }
    })
}

const item = (path: string, text: string): DefaultTheme.SidebarItem => ({ text, link: address(path) })

function guides(): DefaultTheme.SidebarItem[] {
  const all = groups()
  const later = new Set(all.slice(1).flatMap((g) => g.entries.map((e) => e.path)))
  const isReference = (path: string) => path.startsWith('docs/reference/')
  const seen = new Set<string>()
  const once = (path: string) => path !== 'docs/clients/README.md' && !seen.has(path) && !!seen.add(path)
  const sidebar = all.map((g, i) => {
    const referenced = g.name === 'Reference' ? all.flatMap((o) => o.entries.filter((e) => isReference(e.path))) : []
    const own = g.entries.filter((e) => !isReference(e.path) && (i > 0 || !later.has(e.path)))
    const items = [...own, ...referenced.map((e) => ({ ...e, text: title(e.path).replace(/(: r| R|: R)eference$/, '') }))]
      .filter((e) => address(e.path) && once(e.path))
      .map((e) => item(e.path, capitalize(e.text)))
    return { text: g.name, items }
  })
  sidebar.splice(sidebar.length - 1, 0, {
    text: 'Clients',
    link: '/docs/clients/',
    items: clients(),
    collapsed: true
  })
  return sidebar.filter((g) => g.items.length)
}

function clients(): DefaultTheme.SidebarItem[] {
  return docs
    .filter((p) => /^docs\/clients\/(?!README)/.test(p))
    .map((p) => item(p, title(p)))
}

function decisions(): DefaultTheme.SidebarItem[] {
  const records = docs.filter((p) => /\/decisions\/\d/.test(p))
  return [
    { text: 'Decisions', link: '/docs/decisions/', items: records.map((p) => item(p, title(p))) }
  ]
}

/** assertListed throws if a page of docs is in no sidebar. */
function assertListed(items: DefaultTheme.SidebarItem[]) {
  const listed = new Set<string | undefined>(['/docs/'])
  const walk = (list: DefaultTheme.SidebarItem[]) =>
    list.forEach((i) => (listed.add(i.link), i.items && walk(i.items)))
  walk(items)
  const missing = docs.filter((p) => !listed.has(address(p)))
  if (missing.length) throw new Error(`not listed in docs/README.md: ${missing.join(', ')}`)
}

export function sidebar(releases: string[]): DefaultTheme.Sidebar {
  const main = guides()
  const records = decisions()
  assertListed([...main, ...records])
  const project = [
    {
      text: 'Project',
      items: [
        { text: 'Architecture', link: '/architecture' },
        { text: 'Contributing', link: '/contributing' },
        { text: 'Report a vulnerability', link: '/security' },
        ...releases.map((r) => ({ text: r === 'unreleased' ? 'Changelog' : `Changelog ${r}`, link: `/changelog/${r}` }))
      ]
    }
  ]
  return {
    '/docs/decisions/': records,
    '/changelog/': [...project, ...main],
    '/architecture': [...project, ...main],
    '/contributing': [...project, ...main],
    '/security': [...project, ...main],
    '/docs/': main
  }
}
